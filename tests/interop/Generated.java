import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import org.apache.kafka.message.MessageGenerator;

/** Reads paths of specs, a line each, and prints why Kafka's message generator refuses it: an empty line if it does not. */
public class Generated {
    private static final List<String> CLASSES = List.of("MessageDataGenerator", "JsonConverterGenerator");

    public static void main(String[] arguments) throws Exception {
        PrintStream out = System.out;
        System.setOut(new PrintStream(OutputStream.nullOutputStream())); // the generator counts files there
        Path specs = Files.createDirectory(Path.of(arguments[0], "specs"));
        Path made = Files.createDirectory(Path.of(arguments[0], "made"));
        BufferedReader paths = new BufferedReader(new InputStreamReader(System.in));
        for (String path = paths.readLine(); path != null; path = paths.readLine()) {
            Files.copy(Path.of(path), specs.resolve("spec.json"), StandardCopyOption.REPLACE_EXISTING);
            out.println(reason(specs, made));
        }
    }

    private static String reason(Path specs, Path made) {
        try {
            MessageGenerator.processDirectories("made", made.toString(), specs.toString(), List.of(), CLASSES);
            return "";
        } catch (Exception caught) {
            Throwable cause = caught;
            while (cause.getCause() != null) {
                cause = cause.getCause();
            }
            return cause.toString().lines().findFirst().orElse("refused");
        }
    }
}
