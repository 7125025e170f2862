import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.MetadataResponseData;
import org.apache.kafka.common.message.MetadataResponseData.MetadataResponsePartition;
import org.apache.kafka.common.message.MetadataResponseData.MetadataResponseTopic;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.api.java.UDF1;

/** The topics of a MetadataResponse v12 as typed rows, decoded by Kafka's own class. */
public class MetadataTopics implements UDF1<byte[], List<Row>> {
    @Override
    public List<Row> call(byte[] body) {
        var message = new MetadataResponseData(new ByteBufferAccessor(ByteBuffer.wrap(body)), (short) 12);
        List<Row> topics = new ArrayList<>(message.topics().size());
        for (MetadataResponseTopic topic : message.topics()) {
            List<Row> partitions = new ArrayList<>(topic.partitions().size());
            for (MetadataResponsePartition partition : topic.partitions()) {
                partitions.add(row(partition));
            }
            topics.add(RowFactory.create(topic.name(), bytes(topic.topicId()), partitions));
        }
        return topics;
    }

    private static Row row(MetadataResponsePartition partition) {
        return RowFactory.create(
            partition.errorCode(),
            partition.partitionIndex(),
            partition.leaderId(),
            partition.leaderEpoch(),
            partition.replicaNodes().toArray(new Integer[0]),
            partition.isrNodes().toArray(new Integer[0]),
            partition.offlineReplicas().toArray(new Integer[0]));
    }

    private static byte[] bytes(Uuid id) {
        return ByteBuffer.allocate(16)
            .putLong(id.getMostSignificantBits())
            .putLong(id.getLeastSignificantBits())
            .array();
    }
}
