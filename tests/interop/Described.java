import java.util.*;
import java.util.concurrent.ExecutionException;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.*;
import org.apache.kafka.common.config.ConfigResource;

/** What Java's admin client and consumer see of a cluster and a topic: a line a fact, in an order of its own. */
public class Described {
    static String racks(List<Node> nodes) {
        return nodes.stream().map(n -> n.id() + "@" + n.rack()).collect(Collectors.joining(","));
    }

    static String ids(Node[] nodes) {
        return Arrays.stream(nodes).map(Node::idString).collect(Collectors.joining(","));
    }

    static String refused(KafkaFuture<?> future) throws InterruptedException {
        try {
            future.get();
            return "done";
        } catch (ExecutionException e) {
            return e.getCause().getClass().getSimpleName();
        }
    }

    public static void main(String[] args) throws Exception {
        String topic = args[1];
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", args[0]);
        settings.put("request.timeout.ms", 10000);
        settings.put("default.api.timeout.ms", 20000);
        settings.put("key.deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
        settings.put("value.deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
        List<String> lines = new ArrayList<>();
        try (Admin admin = Admin.create(settings); KafkaConsumer<String, String> consumer = new KafkaConsumer<>(settings)) {
            List<Integer> brokers = new ArrayList<>();
            for (Node node : admin.describeCluster().nodes().get()) {
                brokers.add(node.id());
                lines.add("node " + node.id() + " " + node.rack());
            }
            TopicDescription found = admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic);
            for (TopicPartitionInfo one : found.partitions()) {
                lines.add("admin " + one.partition() + " leader " + one.leader().id() + " replicas "
                        + racks(one.replicas()) + " isr " + racks(one.isr()));
            }
            for (PartitionInfo one : consumer.partitionsFor(topic)) {
                lines.add("consumer " + one.partition() + " offline " + List.of(ids(one.offlineReplicas())));
            }
            admin.describeLogDirs(brokers).allDescriptions().get().forEach((broker, dirs) -> dirs.forEach((path, dir) ->
                    lines.add("dir " + broker + " " + path.substring(path.length() - 1) + " "
                            + (dir.error() == null ? dir.replicaInfos().keySet().stream().map(Object::toString).sorted()
                                    .collect(Collectors.joining(",")) : dir.error().getClass().getSimpleName()))));
            ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
            ConfigEntry entry = admin.describeConfigs(List.of(resource)).all().get().get(resource).get("min.insync.replicas");
            lines.add("config " + entry.name() + " " + entry.value() + " " + entry.source());
            lines.add("again " + refused(admin.createTopics(List.of(new NewTopic(topic, 1, (short) 1))).all()));
            lines.add("wide " + refused(admin.createTopics(List.of(new NewTopic("wide", 1, (short) 9))).all()));
            lines.add("fewer " + refused(admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(1))).all()));
            NewTopic made = new NewTopic("made", Map.of(0, List.of(2, 3))).configs(Map.of("retention.ms", "1"));
            CreateTopicsResult result = admin.createTopics(List.of(made));
            lines.add("made " + result.numPartitions("made").get() + " " + result.replicationFactor("made").get() + " "
                    + result.config("made").get().get("retention.ms").value());
            lines.add("more " + refused(admin.createPartitions(Map.of("made", NewPartitions.increaseTo(2))).all()));
            lines.add("gone " + refused(admin.deleteTopics(List.of("made")).all()));
        }
        Collections.sort(lines);
        lines.forEach(System.out::println);
    }
}
