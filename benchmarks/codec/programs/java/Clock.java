import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;

/** Calls Kafka's own classes; programs/README.md says what it is asked. */
public class Clock {
    /** One message at one version, and its bodies. */
    static class Loaded {
        final Supplier<Message> make;
        final short version;
        final List<byte[]> bodies = new ArrayList<>();
        final List<Message> messages = new ArrayList<>();

        Loaded(short key, boolean isRequest, short version) {
            ApiMessageType type = ApiMessageType.fromApiKey(key);
            this.make = isRequest ? type::newRequest : type::newResponse;
            this.version = version;
            if (version < type.lowestSupportedVersion() || version > type.highestSupportedVersion(true))
                throw new IllegalArgumentException(type + " has no version " + version);
        }

        Message decode(byte[] body) {
            Message message = make.get();
            message.read(new ByteBufferAccessor(ByteBuffer.wrap(body)), version);
            return message;
        }

        byte[] encode(Message message) {
            ObjectSerializationCache cache = new ObjectSerializationCache();
            ByteBuffer out = ByteBuffer.allocate(message.size(cache, version));
            message.write(new ByteBufferAccessor(out), cache, version);
            return out.array();
        }

        void load(Path path) throws Exception {
            ByteBuffer in = ByteBuffer.wrap(Files.readAllBytes(path));
            ByteArrayOutputStream again = new ByteArrayOutputStream();
            DataOutputStream out = new DataOutputStream(again);
            while (in.hasRemaining()) {
                byte[] body = new byte[in.getInt()];
                in.get(body);
                bodies.add(body);
                messages.add(decode(body));
                byte[] written = encode(messages.get(messages.size() - 1));
                out.writeInt(written.length);
                out.write(written);
            }
            Files.write(Path.of(path + ".again"), again.toByteArray());
        }

        Object call(boolean decodes, long number) {
            int index = (int) (number % bodies.size());
            return decodes ? decode(bodies.get(index)) : encode(messages.get(index));
        }
    }

    static volatile Object sink;

    static long calls(Loaded loaded, boolean decodes, long slot) {
        long count = 0;
        for (long end = System.nanoTime() + slot; System.nanoTime() < end;)
            for (long batch = count + 1; batch > 0; batch--)
                sink = loaded.call(decodes, count++);
        return count;
    }

    public static void main(String[] arguments) throws Exception {
        List<Loaded> all = new ArrayList<>();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ", 5);
            try {
                if (words[0].equals("load")) {
                    Loaded loaded = new Loaded(Short.parseShort(words[1]), words[2].equals("request"), Short.parseShort(words[3]));
                    loaded.load(Path.of(words[4]));
                    all.add(loaded);
                    System.out.println("ok");
                } else {
                    System.out.println(calls(all.get(Integer.parseInt(words[1])), words[0].equals("decode"), Long.parseLong(words[2])));
                }
            } catch (Exception error) {
                System.out.println("no " + error.toString().replace('\n', ' '));
            }
            System.out.flush();
        }
    }
}
