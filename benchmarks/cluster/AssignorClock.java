import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.zip.CRC32;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.*;
import org.apache.kafka.common.*;

/** Times Kafka's own assignors, warm, on the groups of assignors.py: ASSIGNOR SHAPE RACKS TOPICS PARTITIONS MEMBERS ROUNDS. */
public class AssignorClock {
    public static void main(String[] words) {
        String name = words[0], shape = words[1];
        int racks = number(words[2]), topics = number(words[3]), partitions = number(words[4]), members = number(words[5]);
        Cluster cluster = cluster(racks, topics, partitions);
        Map<String, Subscription> group = new HashMap<>();
        for (int member = 0; member < members; member++)
            group.put(id(member), new Subscription(wanted(shape, member, topics), null, List.of(), -1, rack(racks, member)));
        if (shape.endsWith("leave")) group = later(name, cluster, group);
        List<Long> times = new ArrayList<>();
        Map<String, Assignment> answer = Map.of();
        for (int round = 0, rounds = number(words[6]); round < rounds; round++) {
            ConsumerPartitionAssignor assignor = assignor(name);
            Map<String, Subscription> fresh = rewound(group);
            long start = System.nanoTime();
            answer = assignor.assign(cluster, new GroupSubscription(fresh)).groupAssignment();
            if (round >= rounds / 2) times.add(System.nanoTime() - start);
        }
        Collections.sort(times);
        System.out.println(times.get(times.size() / 2) / 1e9 + " " + digest(answer));
    }

    static int number(String word) { return Integer.parseInt(word); }

    static String id(int member) { return "consumer-group-" + member + "-" + Integer.toHexString(member * 7919 % 100003); }

    static Optional<String> rack(int racks, int member) { return racks == 0 ? Optional.empty() : Optional.of("rack" + member % racks); }

    static List<String> wanted(String shape, int member, int topics) {
        List<String> wanted = new ArrayList<>();
        for (int topic = 0; topic < (shape.startsWith("mixed") && member % 2 == 0 ? topics / 2 : topics); topic++) wanted.add("topic-" + topic);
        return wanted;
    }

    static Cluster cluster(int racks, int topics, int partitions) {
        List<Node> nodes = new ArrayList<>();
        for (int node = 0; node < 5; node++) nodes.add(new Node(node, "host", 9092, racks == 0 ? null : "rack" + node % racks));
        List<PartitionInfo> all = new ArrayList<>();
        for (int topic = 0; topic < topics; topic++)
            for (int partition = 0; partition < partitions; partition++) {
                Node[] replicas = {nodes.get((partition + topic) % 5), nodes.get((partition + topic + 1) % 5)};
                all.add(new PartitionInfo("topic-" + topic, partition, replicas[0], replicas, replicas));
            }
        return new Cluster("cluster", nodes, all, Set.of(), Set.of());
    }

    static ConsumerPartitionAssignor assignor(String name) {
        return switch (name) {
            case "range" -> new RangeAssignor();
            case "roundrobin" -> new RoundRobinAssignor();
            case "sticky" -> new StickyAssignor();
            default -> new CooperativeStickyAssignor();
        };
    }

    /** The group after its first rebalance, when one in ten members has left. */
    static Map<String, Subscription> later(String name, Cluster cluster, Map<String, Subscription> group) {
        Map<String, Assignment> first = assignor(name).assign(cluster, new GroupSubscription(group)).groupAssignment();
        Map<String, Subscription> later = new HashMap<>();
        for (String id : group.keySet()) {
            if (Integer.parseInt(id.split("-")[2]) % 10 == 3) continue;
            Subscription was = group.get(id);
            ConsumerPartitionAssignor assignor = assignor(name);
            assignor.onAssignment(first.get(id), new ConsumerGroupMetadata("group", 1, id, Optional.empty()));
            later.put(id, new Subscription(was.topics(), assignor.subscriptionUserData(Set.of()), first.get(id).partitions(), 1, was.rackId()));
        }
        return later;
    }

    static Map<String, Subscription> rewound(Map<String, Subscription> group) {
        group.values().forEach(one -> { if (one.userData() != null) one.userData().rewind(); });
        return new HashMap<>(group);
    }

    static String digest(Map<String, Assignment> answer) {
        CRC32 crc = new CRC32();
        for (String id : new TreeMap<>(answer).keySet()) {
            crc.update(id.getBytes(StandardCharsets.UTF_8));
            for (TopicPartition one : answer.get(id).partitions()) crc.update((" " + one.topic() + "/" + one.partition()).getBytes(StandardCharsets.UTF_8));
        }
        return String.format("%08x", crc.getValue());
    }
}
