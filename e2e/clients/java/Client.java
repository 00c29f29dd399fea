import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.flagsmith.FlagsmithClient;
import com.flagsmith.config.FlagsmithConfig;
import com.flagsmith.config.Retry;
import com.flagsmith.models.BaseFlag;
import com.flagsmith.models.DefaultFlag;
import com.flagsmith.models.Flags;
import com.flagsmith.models.TraitConfig;
import com.flagsmith.offline.LocalFileHandler;
import java.io.File;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;

/** The official Java client, unchanged, against one node of a cluster. */
public class Client {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final HttpClient HTTP = HttpClient.newHttpClient();
  private static final String RUN = "java-" + Long.toString(System.currentTimeMillis(), 36) + "-";
  private static int passed;
  private static int failed;

  /** A case; it fails by throwing. */
  private interface Case {
    void run() throws Exception;
  }

  private static String env(String name) {
    return System.getenv().getOrDefault("FLAGRAFT_" + name, "");
  }

  private static void check(String name, Case body) {
    try {
      body.run();
      passed++;
      System.out.println("ok " + name);
    } catch (Throwable e) {
      failed++;
      String why = e.getClass().getSimpleName() + " " + e.getMessage();
      System.out.println("FAIL " + name + ": " + why.replace('\n', ' ').substring(0, Math.min(600, why.length())));
    }
  }

  private static void equal(Object got, Object want, String what) {
    if (!(want == null ? got == null : want.equals(got))) {
      throw new AssertionError(what + ": " + got + ", not " + want);
    }
  }

  private static FlagsmithConfig.Builder config() {
    return FlagsmithConfig.newBuilder().baseUri(env("API")).retries(new Retry(0));
  }

  private static FlagsmithClient client(String key, FlagsmithConfig.Builder config) {
    return FlagsmithClient.newBuilder().setApiKey(key).withConfiguration(config.build()).build();
  }

  private static FlagsmithClient remote() {
    return client(env("CLIENT_KEY"), config());
  }

  private static FlagsmithClient local(int refresh) {
    return client(env("SERVER_KEY"), config().withLocalEvaluation(true).withEnvironmentRefreshIntervalSeconds(refresh));
  }

  /** Runs the body with a remote and a local client. */
  private static void both(Callback body) throws Exception {
    for (FlagsmithClient c : List.of(remote(), local(60))) {
      body.run(c);
      c.close();
    }
  }

  private interface Callback {
    void run(FlagsmithClient c) throws Exception;
  }

  /** What a program can see of the flags; variants' values are text for this client. */
  private static Map<String, String> shown(Flags flags) {
    Map<String, String> all = new TreeMap<>();
    for (BaseFlag f : flags.getAllFlags()) {
      if (!f.getFeatureName().startsWith("path_")) { // its engine knows no paths
        all.put(f.getFeatureName(), f.getEnabled() + " " + f.getValue());
      }
    }
    return all;
  }

  private static JsonNode send(String method, String path, Object body, String header, String value) throws Exception {
    HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(env("API") + path)).header(header, value)
        .header("Content-Type", "application/json")
        .method(method, body == null ? BodyPublishers.noBody() : BodyPublishers.ofString(JSON.writeValueAsString(body)));
    var answer = HTTP.send(request.build(), BodyHandlers.ofString());
    equal(answer.statusCode() / 100, 2, method + " " + path + ": " + answer.body());
    return JSON.readTree(answer.body());
  }

  private static JsonNode admin(String method, String path, Object body) throws Exception {
    return send(method, path, body, "Authorization", "Token " + env("TOKEN"));
  }

  private static void setLive(boolean enabled, String value) throws Exception {
    admin("PATCH", "environments/" + env("CLIENT_KEY") + "/featurestates/" + env("LIVE") + "/",
        Map.of("enabled", enabled, "feature_state_value", value));
  }

  private static int stored(String identifier) throws Exception {
    String q = URLEncoder.encode('"' + identifier + '"', StandardCharsets.UTF_8);
    return admin("GET", "environments/" + env("CLIENT_KEY") + "/identities/?q=" + q, null).get("count").asInt();
  }

  private static void eventually(String what, Callable<Boolean> ok) throws Exception {
    long end = System.nanoTime() + 15_000_000_000L;
    while (!ok.call()) {
      if (System.nanoTime() > end) {
        throw new AssertionError("not within 15 s: " + what);
      }
      Thread.sleep(50);
    }
  }

  private static void defaults(Flags flags) throws Exception {
    equal(flags.isFeatureEnabled("on"), true, "on");
    equal(flags.isFeatureEnabled("off"), false, "off");
    equal(flags.getFeatureValue("greeting"), "hello", "greeting");
    equal(flags.getFeatureValue("limit"), 42, "limit");
    equal(flags.getFeatureValue("switch"), true, "switch");
    equal(flags.getFeatureValue("blank"), "", "blank");
    equal(flags.getFeatureValue("CamelCase"), "camel", "CamelCase");
    equal(flags.getFeatureValue("greeting_unicode"), "žluťoučký kůň ✓ 🐎", "greeting_unicode");
    equal(flags.getFeatureValue("colour"), "grey", "colour");
  }

  private static boolean has(Flags flags, String name) {
    return flags.getAllFlags().stream().anyMatch(f -> f.getFeatureName().equals(name));
  }

  private static void agreement() throws Exception {
    FlagsmithClient far = client(env("SERVER_KEY"), config());
    FlagsmithClient near = local(60);
    JsonNode all = JSON.readTree(new File(env("IDENTITIES")));
    equal(all.size(), 2000, "identities");
    for (JsonNode i : all) {
      String name = i.get("identifier").asText();
      Map<String, Object> traits = JSON.convertValue(i.get("traits"), JSON.getTypeFactory().constructMapType(HashMap.class, String.class, Object.class));
      Map<String, String> a = shown(far.getIdentityFlags(name, traits));
      Map<String, String> b = shown(near.getIdentityFlags(name, traits));
      if (i.get("overridden").asBoolean()) {
        // This client hashes identities with overrides by their number in the document.
        for (String hashed : List.of("colour", "everyone", "mixed", "tier_colour", "op_split")) {
          a.remove(hashed);
          b.remove(hashed);
        }
      }
      if (!a.equals(b)) {
        List<String> differ = new ArrayList<>();
        a.forEach((k, v) -> {
          if (!v.equals(b.get(k))) {
            differ.add(k + ": remote " + v + ", local " + b.get(k));
          }
        });
        throw new AssertionError(i + " " + differ);
      }
    }
    far.close();
    near.close();
  }

  private static void offline() throws Exception {
    JsonNode document = send("GET", "environment-document/", null, "X-Environment-Key", env("SERVER_KEY"));
    Path file = Files.createTempFile("document", ".json");
    Files.writeString(file, JSON.writeValueAsString(document));
    FlagsmithConfig.Builder config = FlagsmithConfig.newBuilder().baseUri("http://127.0.0.1:9/")
        .withOfflineMode(true).withOfflineHandler(new LocalFileHandler(file.toString()));
    Files.delete(file);
    FlagsmithClient c = client(env("SERVER_KEY"), config);
    defaults(c.getEnvironmentFlags());
    equal(c.getIdentityFlags("x", Map.of("plan", "gold")).getFeatureValue("ranked"), "gold", "ranked");
  }

  public static void main(String[] arguments) {
    check("environment flags, remote and local", () -> both(c -> defaults(c.getEnvironmentFlags())));
    check("a flag for servers only", () -> {
      equal(has(remote().getEnvironmentFlags(), "secret"), false, "client key");
      equal(has(client(env("SERVER_KEY"), config()).getEnvironmentFlags(), "secret"), true, "server key");
    });
    check("segments, priorities, typed values", () -> both(c -> {
      Flags gold = c.getIdentityFlags(RUN + "gold", Map.of("plan", "gold", "age", 50));
      equal(gold.getFeatureValue("typed"), 99, "typed");
      equal(gold.getFeatureValue("ranked"), "gold", "ranked");
      Flags free = c.getIdentityFlags(RUN + "free", Map.of("plan", "free", "age", 50));
      equal(free.getFeatureValue("typed"), false, "typed");
      equal(free.getFeatureValue("ranked"), "adults", "ranked");
    }));
    check("identity overrides", () -> both(c -> {
      equal(c.getIdentityFlags("vip-13").getFeatureValue("personal"), "for vip-13", "personal");
      equal(c.getIdentityFlags("vip-16", Map.of("plan", "gold")).getFeatureValue("ranked"), "personal", "ranked");
    }));
    check("traits are kept with their types", () -> {
      Map<String, Object> traits = Map.of("plan", "gold", "age", 33, "score", 1.5, "beta", true);
      Map<String, String> first = shown(remote().getIdentityFlags(RUN + "kept", traits));
      equal(shown(remote().getIdentityFlags(RUN + "kept")), first, "with the stored traits");
    });
    check("transient identities and traits", () -> {
      equal(remote().getIdentityFlags(RUN + "ghost", Map.of("plan", "gold"), true).getFeatureValue("ranked"), "gold", "ghost");
      equal(stored(RUN + "ghost"), 0, "stored ghosts");
      Map<String, Object> half = Map.of("plan", new TraitConfig("gold", true));
      equal(remote().getIdentityFlags(RUN + "half", half).getFeatureValue("ranked"), "gold", "half");
      equal(remote().getIdentityFlags(RUN + "half").getFeatureValue("ranked"), "nobody", "half, later");
      equal(stored(RUN + "half"), 1, "stored halves");
    });
    check("segments of an identity", () -> {
      FlagsmithClient c = local(60);
      var names = c.getIdentitySegments("x", Map.of("plan", "gold")).stream().map(s -> s.getName()).collect(Collectors.toSet());
      equal(names.contains("op_equal") && names.contains("op_not_set") && !names.contains("op_set"), true, names.toString());
      c.close();
    });
    check("local and remote agree for 2,000 identities", Client::agreement);
    check("changes show at once and after a poll", () -> {
      FlagsmithClient polling = local(1);
      for (String value : List.of(RUN + "one", RUN + "two")) {
        setLive(true, value);
        equal(remote().getEnvironmentFlags().getFeatureValue("live"), value, "live");
        eventually(value, () -> value.equals(polling.getEnvironmentFlags().getFeatureValue("live")));
      }
      polling.close();
    });
    check("offline from a document", Client::offline);
    check("a wrong key", () -> {
      FlagsmithClient c = FlagsmithClient.newBuilder().setApiKey("no-such-key").withConfiguration(config().build())
          .setDefaultFlagValueFunction(name -> {
            DefaultFlag flag = new DefaultFlag();
            flag.setFeatureName(name);
            flag.setEnabled(false);
            flag.setValue("built in");
            return flag;
          }).build();
      equal(c.getEnvironmentFlags().getFeatureValue("greeting"), "built in", "greeting");
    });
    check("analytics are taken", () -> {
      FlagsmithConfig config = config().withEnableAnalytics(true).build();
      FlagsmithClient c = FlagsmithClient.newBuilder().setApiKey(env("CLIENT_KEY")).withConfiguration(config).build();
      Flags flags = c.getEnvironmentFlags();
      for (int n = 0; n < 3; n++) {
        flags.isFeatureEnabled("greeting");
      }
      equal(config.getAnalyticsProcessor().getAnalyticsData().get("greeting").intValue(), 3, "counted");
      config.getAnalyticsProcessor().flush();
      eventually("flush", () -> config.getAnalyticsProcessor().getAnalyticsData().isEmpty());
      c.close();
    });
    System.out.println(passed + " passed, " + failed + " failed");
    System.exit(failed > 0 ? 1 : 0);
  }
}
