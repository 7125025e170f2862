import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.*;
import org.apache.kafka.common.errors.*;
import org.apache.kafka.common.serialization.*;

/**
 * Copies records of a topic to another one exactly once: an idempotent producer, members of a group with a transactional
 * producer each, and a consumer of what is committed. Prints how often the records of each topic were read, and the
 * errors that no client can go on after.
 *
 * Arguments: bootstrap servers, the topics, the group's protocol, how many records.
 */
public class Exactly {
    static final Duration POLL = Duration.ofMillis(200);
    static final long PATIENCE_MS = 90_000;
    static final String SESSION_MS = "8000"; // a member that dies may fail to leave its group
    static final int MEMBERS = 2;
    static final int TRANSACTIONS_OF_A_LIFE = 15;
    static final Queue<String> fatal = new ConcurrentLinkedQueue<>();
    static final AtomicInteger aborted = new AtomicInteger(), lives = new AtomicInteger();
    static final AtomicBoolean done = new AtomicBoolean();

    static Properties configs(String bootstrap, String clientId) {
        Properties configs = new Properties();
        configs.put("bootstrap.servers", bootstrap);
        configs.put("client.id", clientId);
        configs.put("reconnect.backoff.ms", "10");
        configs.put("retry.backoff.ms", "20");
        return configs;
    }

    static KafkaProducer<String, String> producer(String bootstrap, String clientId, String transactionalId) {
        Properties configs = configs(bootstrap, clientId);
        configs.put("linger.ms", "2");
        configs.put("batch.size", "500");
        if (transactionalId != null) {
            configs.put("transactional.id", transactionalId);
        }
        return new KafkaProducer<>(configs, new StringSerializer(), new StringSerializer());
    }

    static KafkaConsumer<String, String> consumer(String bootstrap, String clientId, String group, String protocol) {
        Properties configs = configs(bootstrap, clientId);
        configs.put("isolation.level", "read_committed");
        configs.put("enable.auto.commit", "false");
        configs.put("auto.offset.reset", "earliest");
        configs.put("max.poll.records", "20");
        if (group != null) {
            configs.put("group.id", group);
            configs.put("group.protocol", protocol);
            if (protocol.equals("classic")) {
                configs.put("session.timeout.ms", SESSION_MS);
            }
        }
        return new KafkaConsumer<>(configs, new StringDeserializer(), new StringDeserializer());
    }

    static void produce(String bootstrap, String topic, int count) throws Exception {
        try (KafkaProducer<String, String> producer = producer(bootstrap, "feeder", null)) {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (int number = 0; number < count; number++) {
                sent.add(producer.send(new ProducerRecord<>(topic, number % 3, "k" + number, "v" + number)));
                if (number % 50 == 49) {
                    producer.flush();
                }
            }
            for (Future<RecordMetadata> one : sent) {
                one.get(60, TimeUnit.SECONDS);
            }
        }
    }

    /** Copies until all is done, by one member after another, as each dies at last. */
    static void copy(String bootstrap, String source, String target, String protocol, int number) {
        for (int life = 0; !done.get(); life++) {
            try {
                live(bootstrap, source, target, protocol, "copier-" + number, TRANSACTIONS_OF_A_LIFE + number);
            } catch (Exception error) {
                fatal.add("copier-" + number + ", life " + life + ": " + error);
                return;
            }
        }
    }

    /**
     * Copies; after an error, goes on from what is committed, with a new producer if need be. Dies in the middle of a
     * transaction, without a word: the next life fences the producer.
     */
    static void live(String bootstrap, String source, String target, String protocol, String id, int transactions) {
        KafkaProducer<String, String> producer = null;
        KafkaConsumer<String, String> consumer = consumer(bootstrap, id, "copiers", protocol);
        boolean dies = false;
        try {
            consumer.subscribe(List.of(source));
            while (!done.get()) {
                try {
                    if (producer == null) {
                        producer = producer(bootstrap, id, id);
                        producer.initTransactions();
                    }
                    ConsumerRecords<String, String> records = consumer.poll(POLL);
                    if (records.isEmpty()) {
                        continue;
                    }
                    dies = transactions-- == 0;
                    copy(records, producer, consumer, target, dies);
                    if (dies) {
                        lives.incrementAndGet();
                        return;
                    }
                } catch (ProducerFencedException | InvalidPidMappingException | AuthorizationException error) {
                    throw error;
                } catch (KafkaException error) {
                    aborted.incrementAndGet();
                    producer = abort(producer);
                    rewind(consumer);
                }
            }
        } finally {
            consumer.close(Duration.ofSeconds(5));
            if (producer != null) {
                producer.close(dies ? Duration.ZERO : Duration.ofSeconds(5));
            }
        }
    }

    static void copy(ConsumerRecords<String, String> records, KafkaProducer<String, String> producer,
                     KafkaConsumer<String, String> consumer, String target, boolean dies) {
        producer.beginTransaction();
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        for (ConsumerRecord<String, String> record : records) {
            producer.send(new ProducerRecord<>(target, record.key(), record.value()));
            offsets.put(new TopicPartition(record.topic(), record.partition()), new OffsetAndMetadata(record.offset() + 1));
        }
        if (dies) {
            producer.flush();
            return;
        }
        producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
        producer.commitTransaction();
    }

    /** Returns the producer, or null if it cannot be used any longer. */
    static KafkaProducer<String, String> abort(KafkaProducer<String, String> producer) {
        try {
            producer.abortTransaction();
            return producer;
        } catch (KafkaException | IllegalStateException error) {
            producer.close(Duration.ofSeconds(5));
            return null;
        }
    }

    static void rewind(KafkaConsumer<String, String> consumer) {
        for (int attempt = 0; ; attempt++) {
            try {
                Map<TopicPartition, OffsetAndMetadata> committed = consumer.committed(consumer.assignment());
                for (TopicPartition partition : consumer.assignment()) {
                    OffsetAndMetadata offset = committed.get(partition);
                    consumer.seek(partition, offset == null ? 0 : offset.offset());
                }
                return;
            } catch (KafkaException error) {
                if (attempt == 20) {
                    throw error;
                }
            }
        }
    }

    /** Reads what is committed in a topic until there are so many records; returns how often each was read. */
    static Map<String, Integer> read(String bootstrap, String topic, int count) {
        Map<String, Integer> counts = new TreeMap<>();
        try (KafkaConsumer<String, String> consumer = consumer(bootstrap, "reader-" + topic, null, null)) {
            List<TopicPartition> partitions = new ArrayList<>();
            for (int index = 0; index < 3; index++) {
                partitions.add(new TopicPartition(topic, index));
            }
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            long deadline = System.currentTimeMillis() + PATIENCE_MS;
            long last = System.currentTimeMillis();
            // Some time longer, so that what was written twice is seen.
            while (System.currentTimeMillis() < deadline && (counts.size() < count || System.currentTimeMillis() < last + 2000)) {
                for (ConsumerRecord<String, String> record : consumer.poll(POLL)) {
                    counts.merge(record.value(), 1, Integer::sum);
                    last = System.currentTimeMillis();
                }
            }
        }
        return counts;
    }

    static String summary(Map<String, Integer> counts) {
        int total = counts.values().stream().mapToInt(Integer::intValue).sum();
        return counts.size() + " records, read " + total + " times";
    }

    public static void main(String[] args) throws Exception {
        String bootstrap = args[0], source = args[1], target = args[2], protocol = args[3];
        int count = Integer.parseInt(args[4]);
        List<Thread> members = new ArrayList<>();
        for (int number = 0; number < MEMBERS; number++) {
            int own = number;
            members.add(new Thread(() -> copy(bootstrap, source, target, protocol, own)));
        }
        members.forEach(Thread::start);
        produce(bootstrap, source, count);
        System.out.println("produced " + summary(read(bootstrap, source, count)));
        System.out.println("copied " + summary(read(bootstrap, target, count)));
        done.set(true);
        for (Thread member : members) {
            member.join(30_000);
        }
        System.out.println("fatal " + fatal);
        System.err.println("aborted " + aborted + ", lives " + lives);
        System.exit(0);
    }
}
