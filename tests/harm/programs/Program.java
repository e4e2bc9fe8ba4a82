// Threads, files, a child process, garbage, an exception; ends with 6.
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;

public class Program {
    static int write(int number) throws Exception {
        Path path = Path.of("java-" + number);
        Files.write(path, new byte[number * 1000]);
        return Files.readAllBytes(path).length;
    }

    static int deep(int depth) { return deep(depth + 1) + 1; }

    public static void main(String[] arguments) throws Exception {
        var pool = Executors.newFixedThreadPool(4);
        var sizes = IntStream.range(0, 40).mapToObj(i -> pool.submit(() -> write(i))).toList();
        int total = 0;
        for (Future<Integer> size : sizes) total += size.get();
        pool.shutdown();
        var child = new ProcessBuilder("sh", "-c", "cat java-3 | wc -c; exit 4").start();
        String line = new BufferedReader(new InputStreamReader(child.getInputStream())).readLine();
        long garbage = IntStream.range(0, 200).mapToLong(i -> new byte[1 << 20].length).sum();
        String deepest = "none";
        try {
            deep(0);
        } catch (StackOverflowError error) {
            deepest = "overflow"; // HotSpot finds it by SIGSEGV on a guard page
        }
        System.out.println(total + " " + line + " " + child.waitFor() + " " + garbage + " " + deepest);
        System.exit(6);
    }
}
