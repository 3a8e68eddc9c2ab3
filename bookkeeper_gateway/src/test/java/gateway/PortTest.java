package gateway;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.Test;

class PortTest {

    @Test
    void answersComeInTheOrderInWhichTheyAreThere() throws Exception {
        ObjectMapper json = new ObjectMapper();
        Map<String, CompletableFuture<ObjectNode>> open = new ConcurrentHashMap<>();
        for (String line : new String[] {"a", "b"}) {
            open.put(line, new CompletableFuture<>());
        }
        try (Port port = new Port("127.0.0.1", 0, open::get)) {
            Thread serving = new Thread(port::run);
            serving.start();
            try (Socket socket = new Socket("127.0.0.1", port.port())) {
                var in = new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
                socket.getOutputStream().write("a\nb\n".getBytes(StandardCharsets.UTF_8));
                open.get("b").complete(json.createObjectNode().put("id", "b"));
                assertEquals("{\"id\":\"b\"}", in.readLine());
                open.get("a").complete(json.createObjectNode().put("id", "a"));
                assertEquals("{\"id\":\"a\"}", in.readLine());
            }
            port.close();
            serving.join(5000);
        }
    }
}
