package register.testkit;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.BufferedReader;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;

/** A client of one node: sends lines, reads answers as maps of strings, longs, booleans, nulls and such maps. */
public final class LineClient implements AutoCloseable {

    private static final int TIMEOUT_MS = 10_000;

    private final Socket socket = new Socket();
    private final BufferedReader in;
    private long lastId;

    public LineClient(int port) throws IOException {
        socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), TIMEOUT_MS);
        socket.setSoTimeout(TIMEOUT_MS);
        socket.setTcpNoDelay(true);
        in = new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
    }

    public void send(String line) throws IOException {
        socket.getOutputStream().write((line + "\n").getBytes(StandardCharsets.UTF_8));
    }

    public Map<String, Object> receive() throws IOException {
        String line = in.readLine();
        if (line == null) {
            throw new EOFException("the node closed the connection");
        }
        return parse(line);
    }

    /** Sends one request, without its id, and returns the answer. */
    public Map<String, Object> ask(String rest) throws IOException {
        send("{\"id\":" + ++lastId + "," + rest + "}");
        return receive();
    }

    public Map<String, Object> write(String key, long value) throws IOException {
        return ask("\"op\":\"write\",\"key\":\"" + key + "\",\"value\":" + value);
    }

    public Map<String, Object> read(String key, String mode) throws IOException {
        return ask("\"op\":\"read\",\"key\":\"" + key + "\",\"mode\":\"" + mode + "\"");
    }

    public Map<String, Object> cas(String key, Long old, long next) throws IOException {
        return ask("\"op\":\"cas\",\"key\":\"" + key + "\",\"old\":" + old + ",\"new\":" + next);
    }

    public Map<String, Object> status() throws IOException {
        return ask("\"op\":\"status\"");
    }

    private static Map<String, Object> parse(String line) throws IOException {
        try (JsonParser json = new JsonFactory().createParser(line)) {
            json.nextToken();
            return fields(json);
        }
    }

    private static Map<String, Object> fields(JsonParser json) throws IOException {
        Map<String, Object> fields = new LinkedHashMap<>();
        for (String name = json.nextFieldName(); name != null; name = json.nextFieldName()) {
            JsonToken token = json.nextToken();
            fields.put(name, switch (token) {
                case START_OBJECT -> fields(json);
                case VALUE_NUMBER_INT -> json.getLongValue();
                case VALUE_TRUE -> true;
                case VALUE_FALSE -> false;
                case VALUE_NULL -> null;
                default -> json.getText();
            });
        }
        return fields;
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
