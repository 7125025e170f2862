import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.common.config.ConfigDef;

/** Prints the definitions of Kafka's configs as JSON, by reflection: one object per resource type, and synonyms. */
public class Configs {
    public static void main(String[] arguments) throws Exception {
        List<String> parts = new ArrayList<>();
        parts.add("\"broker\":" + definitions(broker()));
        parts.add("\"topic\":" + definitions((ConfigDef) call("org.apache.kafka.storage.internals.log.LogConfig", "configDefCopy")));
        parts.add("\"group\":" + definitions(group()));
        parts.add("\"clientMetrics\":" + definitions(clientMetrics()));
        parts.add("\"topicSynonyms\":" + synonyms());
        parts.add("\"dynamic\":" + dynamic());
        System.out.println("{" + String.join(",", parts) + "}");
    }

    static ConfigDef broker() throws Exception {
        Object first = first(
            () -> call("kafka.server.KafkaConfig", "configDef"),
            () -> field("org.apache.kafka.server.config.AbstractKafkaConfig", "CONFIG_DEF"));
        return (ConfigDef) first;
    }

    /** The configs of groups; Kafka 3.9 has none. */
    static ConfigDef group() throws Exception {
        try {
            return (ConfigDef) first(
                () -> call("org.apache.kafka.coordinator.group.GroupConfig", "configDef"),
                () -> field("org.apache.kafka.coordinator.group.GroupConfig", "CONFIG_DEF"));
        } catch (ClassNotFoundException error) {
            return new ConfigDef();
        }
    }

    static ConfigDef clientMetrics() throws Exception {
        return (ConfigDef) first(
            () -> call("org.apache.kafka.server.metrics.ClientMetricsConfigs", "configDef"),
            () -> field("org.apache.kafka.server.metrics.ClientMetricsConfigs", "CONFIG"),
            () -> field("org.apache.kafka.server.metrics.ClientMetricsConfigs", "CONFIG_DEF"));
    }

    interface Source { Object get() throws Exception; }

    static Object first(Source... sources) throws Exception {
        Exception last = null;
        for (Source source : sources) {
            try {
                return source.get();
            } catch (ReflectiveOperationException error) {
                last = error;
            }
        }
        throw last;
    }

    static Object call(String name, String method) throws Exception {
        Method found = Class.forName(name).getDeclaredMethod(method);
        found.setAccessible(true);
        return found.invoke(null);
    }

    static Object field(String name, String field) throws Exception {
        Field found = Class.forName(name).getDeclaredField(field);
        found.setAccessible(true);
        return found.get(null);
    }

    static String definitions(ConfigDef definitions) {
        List<String> rows = new ArrayList<>();
        for (ConfigDef.ConfigKey key : new TreeMap<>(definitions.configKeys()).values()) {
            String value = ConfigDef.convertToString(key.hasDefault() ? key.defaultValue : null, key.type);
            rows.add(text(key.name) + ":{\"type\":" + text(key.type.name()) + ",\"required\":" + !key.hasDefault()
                + ",\"default\":" + text(value) + ",\"valid\":" + text(key.validator == null ? null : key.validator.toString())
                + ",\"validator\":" + text(key.validator == null ? null : key.validator.getClass().getName())
                + ",\"internal\":" + key.internalConfig + "}");
        }
        return "{" + String.join(",", rows) + "}";
    }

    /** The broker configs from which each topic config takes its default, in order. */
    static String synonyms() throws Exception {
        Map<?, ?> all = (Map<?, ?>) field("org.apache.kafka.server.config.ServerTopicConfigSynonyms", "ALL_TOPIC_CONFIG_SYNONYMS");
        List<String> rows = new ArrayList<>();
        for (Map.Entry<?, ?> row : new TreeMap<Object, Object>(all).entrySet()) {
            List<String> names = new ArrayList<>();
            for (Object synonym : (Collection<?>) row.getValue()) {
                Method name = synonym.getClass().getMethod("name");
                Method converter = synonym.getClass().getMethod("converter");
                name.setAccessible(true);
                converter.setAccessible(true);
                java.util.function.Function<String, String> convert = (java.util.function.Function<String, String>) converter.invoke(synonym);
                names.add("[" + text((String) name.invoke(synonym)) + "," + text(convert.apply("1")) + "]");
            }
            rows.add(text((String) row.getKey()) + ":[" + String.join(",", names) + "]");
        }
        return "{" + String.join(",", rows) + "}";
    }

    /** The names that may be altered at run time: of all brokers or one, and those of one broker only. */
    static String dynamic() throws Exception {
        Object of = first(
            () -> scala("kafka.server.DynamicBrokerConfig$", "AllDynamicConfigs"),
            () -> field("org.apache.kafka.server.config.DynamicBrokerConfig", "ALL_DYNAMIC_CONFIGS"),
            () -> field("org.apache.kafka.server.DynamicBrokerConfig", "ALL_DYNAMIC_CONFIGS"));
        Object per = first(
            () -> scala("kafka.server.DynamicBrokerConfig$", "PerBrokerConfigs"),
            () -> scala("kafka.server.DynamicBrokerConfig$", "kafka$server$DynamicBrokerConfig$$PerBrokerConfigs"),
            () -> field("org.apache.kafka.server.config.DynamicBrokerConfig", "PER_BROKER_CONFIGS"),
            () -> field("org.apache.kafka.server.DynamicBrokerConfig", "PER_BROKER_CONFIGS"));
        return "{\"all\":" + list(of) + ",\"perBroker\":" + list(per) + "}";
    }

    static Object scala(String name, String method) throws Exception {
        Object module = field(name, "MODULE$");
        Method found = module.getClass().getDeclaredMethod(method);
        found.setAccessible(true);
        return found.invoke(module);
    }

    static String list(Object set) throws Exception {
        TreeSet<String> names = new TreeSet<>();
        if (set instanceof Collection) {
            for (Object name : (Collection<?>) set) names.add(text((String) name));
        } else {
            Object iterator = set.getClass().getMethod("iterator").invoke(set);
            Method has = Class.forName("scala.collection.Iterator").getMethod("hasNext");
            Method next = Class.forName("scala.collection.Iterator").getMethod("next");
            while ((Boolean) has.invoke(iterator)) names.add(text((String) next.invoke(iterator)));
        }
        return "[" + String.join(",", names) + "]";
    }

    static String text(String value) {
        if (value == null) return "null";
        StringBuilder out = new StringBuilder("\"");
        for (char c : value.toCharArray()) {
            if (c == '"' || c == '\\') out.append('\\').append(c);
            else if (c < 32) out.append(String.format("\\u%04x", (int) c));
            else out.append(c);
        }
        return out.append('"').toString();
    }
}
