import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ListGroupsOptions;
import org.apache.kafka.clients.admin.ListShareGroupOffsetsSpec;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;

/** A share consumer and an admin client of Java: what they see, line by line. Arguments: broker, topic, group. */
public class Shared {
    static final int COUNT = 20;

    public static void main(String[] args) throws Exception {
        Properties given = new Properties();
        given.put("bootstrap.servers", args[0]);
        String topic = args[1], group = args[2];
        try (Admin admin = Admin.create(given)) {
            admin.createTopics(List.of(new NewTopic(topic, 1, (short) 1))).all().get();
            ConfigResource of = new ConfigResource(ConfigResource.Type.GROUP, group);
            AlterConfigOp earliest = new AlterConfigOp(new ConfigEntry("share.auto.offset.reset", "earliest"), AlterConfigOp.OpType.SET);
            admin.incrementalAlterConfigs(Map.of(of, List.of(earliest))).all().get();
            produce(given, topic);
            consume(given, topic, group, admin);
            describe(admin, topic, group);
            try (KafkaShareConsumer<String, String> late = consumer(given, group)) {
                late.subscribe(List.of(topic));
                System.out.println("altered with members " + failure(() -> {
                    until(late);
                    admin.alterShareGroupOffsets(group, Map.of(new TopicPartition(topic, 0), 0L)).all().get();
                }));
            }
            settle(admin, group);
            admin.alterShareGroupOffsets(group, Map.of(new TopicPartition(topic, 0), 15L)).all().get();
            try (KafkaShareConsumer<String, String> again = consumer(given, group)) {
                again.subscribe(List.of(topic));
                System.out.println("again " + values(again, 5));
            }
            settle(admin, group);
            admin.deleteShareGroupOffsets(group, Set.of(topic)).all().get();
            admin.deleteShareGroups(List.of(group)).all().get();
            System.out.println("deleted " + failure(() -> admin.describeShareGroups(List.of(group)).all().get()));
        }
    }

    static void produce(Properties given, String topic) throws Exception {
        Properties own = new Properties(given);
        own.putAll(given);
        String strings = "org.apache.kafka.common.serialization.StringSerializer";
        own.put("key.serializer", strings);
        own.put("value.serializer", strings);
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(own)) {
            for (int i = 0; i < COUNT; i++) producer.send(new ProducerRecord<>(topic, "v" + i)).get();
        }
    }

    static KafkaShareConsumer<String, String> consumer(Properties given, String group) {
        Properties own = new Properties();
        own.putAll(given);
        String strings = "org.apache.kafka.common.serialization.StringDeserializer";
        own.put("key.deserializer", strings);
        own.put("value.deserializer", strings);
        own.put("group.id", group);
        own.put("share.acknowledgement.mode", "explicit");
        return new KafkaShareConsumer<>(own);
    }

    /** Accept, release and reject records: each is there as often as it is to be. */
    static void consume(Properties given, String topic, String group, Admin admin) throws Exception {
        Map<String, Integer> seen = new TreeMap<>();
        Set<String> done = new TreeSet<>();
        List<String> codes = new ArrayList<>();
        try (KafkaShareConsumer<String, String> one = consumer(given, group)) {
            one.setAcknowledgementCommitCallback((offsets, error) -> { if (error != null) codes.add(error.toString()); });
            one.subscribe(List.of(topic));
            long end = System.currentTimeMillis() + 60_000;
            while (done.size() < COUNT && System.currentTimeMillis() < end) {
                for (ConsumerRecord<String, String> record : one.poll(Duration.ofMillis(500))) {
                    int number = Integer.parseInt(record.value().substring(1));
                    int count = record.deliveryCount().get();
                    seen.put(record.value(), count);
                    AcknowledgeType type = AcknowledgeType.ACCEPT;
                    if (number % 5 == 1) type = AcknowledgeType.REJECT;
                    if (number % 5 == 2 && count < 2) type = AcknowledgeType.RELEASE;
                    if (number == 3) type = AcknowledgeType.RELEASE;
                    one.acknowledge(record, type);
                    if (type != AcknowledgeType.RELEASE || count == 5) done.add(record.value());
                }
                one.commitSync();
            }
        }
        System.out.println("seen " + seen);
        System.out.println("errors " + codes);
    }

    static List<String> values(KafkaShareConsumer<String, String> consumer, int count) {
        List<String> found = new ArrayList<>();
        long end = System.currentTimeMillis() + 60_000;
        while (found.size() < count && System.currentTimeMillis() < end)
            for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(500))) {
                found.add(record.value());
                consumer.acknowledge(record);
            }
        consumer.commitSync();
        return found;
    }

    static void until(KafkaShareConsumer<String, String> consumer) {
        for (int i = 0; i < 4; i++) consumer.poll(Duration.ofMillis(500));
    }

    static void describe(Admin admin, String topic, String group) throws Exception {
        settle(admin, group);
        var found = admin.describeShareGroups(List.of(group)).all().get().get(group);
        System.out.println("group " + found.groupState() + " " + found.members().size());
        var listed = admin.listGroups(ListGroupsOptions.forShareGroups()).all().get();
        listed.stream().filter(one -> one.groupId().equals(group)).forEach(one -> System.out.println("listed " + one.type().get() + " " + one.groupState().get()));
        var offsets = admin.listShareGroupOffsets(Map.of(group, new ListShareGroupOffsetsSpec())).all().get().get(group);
        offsets.keySet().forEach(partition -> System.out.println("partition " + partition.partition()));
    }

    static void settle(Admin admin, String group) throws Exception {
        for (int i = 0; i < 100; i++) {
            if (admin.describeShareGroups(List.of(group)).all().get().get(group).members().isEmpty()) return;
            Thread.sleep(100);
        }
    }

    interface Step { void run() throws Exception; }

    static String failure(Step step) throws Exception {
        try {
            step.run();
            return "done";
        } catch (ExecutionException error) {
            return error.getCause().getClass().getSimpleName();
        }
    }
}
