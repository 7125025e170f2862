import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.GroupListing;
import org.apache.kafka.clients.admin.StreamsGroupDescription;
import org.apache.kafka.clients.admin.StreamsGroupMemberDescription;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.state.Stores;

/**
 * Counts words exactly once, in a streams group or by the classic protocol. Arguments: "run", broker, folder, protocol; or
 * "check", broker, number of words: reads what was committed, and prints how many words there are and what is wrong.
 */
public class Words {
    static final String APPLICATION = "words", INPUT = "lines", OUTPUT = "counts";

    public static void main(String[] args) throws Exception {
        if (args[0].equals("run")) {
            run(args[1], args[2], args[3]);
        } else {
            check(args[1], Integer.parseInt(args[2]));
        }
    }

    static void run(String broker, String folder, String protocol) {
        Properties given = new Properties();
        given.put("application.id", APPLICATION);
        given.put("bootstrap.servers", broker);
        given.put("group.protocol", protocol);
        given.put("state.dir", folder);
        given.put("processing.guarantee", "exactly_once_v2");
        given.put("num.stream.threads", "2");
        given.put("commit.interval.ms", "100");
        given.put("default.key.serde", Serdes.String().getClass());
        given.put("default.value.serde", Serdes.String().getClass());
        given.put("consumer.auto.offset.reset", "earliest");
        StreamsBuilder builder = new StreamsBuilder();
        builder.<String, String>stream(INPUT)
            .flatMapValues(line -> List.of(line.split(" ")))
            .groupBy((key, word) -> word)
            .count(Materialized.<String, Long>as(Stores.inMemoryKeyValueStore("store")).withCachingDisabled())
            .toStream()
            .mapValues(count -> Long.toString(count))
            .to(OUTPUT);
        KafkaStreams streams = new KafkaStreams(builder.build(), given);
        streams.setStateListener((now, before) -> System.out.println(now));
        streams.setUncaughtExceptionHandler(error -> {
            System.out.println("failed " + error);
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        Runtime.getRuntime().addShutdownHook(new Thread(streams::close));
        streams.start();
    }

    static void check(String broker, int words) throws Exception {
        Properties given = new Properties();
        given.put("bootstrap.servers", broker);
        given.put("isolation.level", "read_committed");
        given.put("auto.offset.reset", "earliest");
        given.put("enable.auto.commit", "false");
        Map<String, Integer> counts = new TreeMap<>();
        int seen = 0, wrong = 0;
        try (KafkaConsumer<String, String> reader = new KafkaConsumer<>(given, new StringDeserializer(), new StringDeserializer())) {
            reader.assign(reader.partitionsFor(OUTPUT).stream().map(one -> new TopicPartition(one.topic(), one.partition())).collect(Collectors.toList()));
            long until = System.currentTimeMillis() + 30_000;
            while (seen < words && System.currentTimeMillis() < until) {
                for (ConsumerRecord<String, String> record : reader.poll(Duration.ofMillis(100))) {
                    seen++;
                    wrong += counts.merge(record.key(), 1, Integer::sum) == Integer.parseInt(record.value()) ? 0 : 1;
                }
            }
            for (ConsumerRecord<String, String> record : reader.poll(Duration.ofMillis(300))) {
                seen++;
            }
        }
        System.out.println("seen " + seen + " wrong " + wrong);
        try (Admin admin = Admin.create(given)) {
            for (GroupListing one : admin.listGroups().all().get()) {
                System.out.println("group " + one.groupId() + " " + one.type().get() + " " + one.groupState().get());
            }
            StreamsGroupDescription group = admin.describeStreamsGroups(List.of(APPLICATION)).all().get().get(APPLICATION);
            Map<String, Integer> active = new HashMap<>(), standby = new HashMap<>();
            for (StreamsGroupMemberDescription member : group.members()) {
                member.assignment().activeTasks().forEach(task -> active.merge(task.subtopologyId(), task.partitions().size(), Integer::sum));
                member.assignment().standbyTasks().forEach(task -> standby.merge(task.subtopologyId(), task.partitions().size(), Integer::sum));
            }
            System.out.println("members " + group.members().size() + " active " + new TreeMap<>(active) + " standby " + new TreeMap<>(standby));
        }
    }
}
