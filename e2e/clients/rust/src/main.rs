//! The official Rust client, unchanged, against one node of a cluster.

use flagsmith::flagsmith::models::{Flag, Flags, SDKTrait};
use flagsmith::flagsmith::offline_handler::LocalFileHandler;
use flagsmith::{Flagsmith, FlagsmithOptions};
use flagsmith_flag_engine::identities::Trait;
use flagsmith_flag_engine::types::{FlagsmithValue, FlagsmithValueType};
use flagsmith_flag_engine::utils::hashing::get_hashed_percentage_for_object_ids;
use serde_json::{json, Value};
use std::collections::BTreeMap;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::time::{Duration, Instant, SystemTime};

fn env(name: &str) -> String {
    std::env::var(format!("FLAGRAFT_{name}")).unwrap_or_default()
}

fn unique(name: &str) -> String {
    let start = std::process::id();
    format!("rust-{start}-{}-{name}", env("LIVE"))
}

fn options() -> FlagsmithOptions {
    FlagsmithOptions { api_url: env("API"), ..Default::default() }
}

fn remote() -> Flagsmith {
    Flagsmith::new(env("CLIENT_KEY"), options())
}

fn local(refresh: u64) -> Flagsmith {
    Flagsmith::new(
        env("SERVER_KEY"),
        FlagsmithOptions { enable_local_evaluation: true, environment_refresh_interval_mills: refresh, ..options() },
    )
}

fn value(v: &Value) -> FlagsmithValue {
    serde_json::from_value(v.clone()).unwrap()
}

fn traits(of: &Value) -> Vec<SDKTrait> {
    let of = of.as_object().unwrap();
    of.iter().map(|(k, v)| SDKTrait::new(k.clone(), value(v))).collect()
}

fn identify(client: &Flagsmith, name: &str, of: Value) -> Flags {
    client.get_identity_flags(name, Some(traits(&of)), None).unwrap()
}

fn text(flags: &Flags, name: &str) -> String {
    flags.get_feature_value_as_string(name).unwrap()
}

/// What a program can see of the flags.
fn shown(flags: &Flags) -> BTreeMap<String, (bool, String)> {
    let all = flags.all_flags().into_iter();
    all.map(|f: Flag| (f.feature_name, (f.enabled, format!("{:?} {}", f.value.value_type, f.value.value)))).collect()
}

fn admin(method: &str, path: &str, body: Option<Value>) -> Value {
    let client = reqwest::blocking::Client::new();
    let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
    let mut request = client.request(method, env("API") + path).header("Authorization", format!("Token {}", env("TOKEN")));
    if let Some(b) = body {
        request = request.json(&b);
    }
    let answer = request.send().unwrap();
    assert!(answer.status().is_success(), "{path}: {}", answer.status());
    answer.json().unwrap()
}

fn set_live(enabled: bool, to: &str) {
    let path = format!("environments/{}/featurestates/{}/", env("CLIENT_KEY"), env("LIVE"));
    admin("PATCH", &path, Some(json!({"enabled": enabled, "feature_state_value": to})));
}

fn defaults(flags: &Flags) {
    assert!(flags.is_feature_enabled("on").unwrap());
    assert!(!flags.is_feature_enabled("off").unwrap());
    assert_eq!(flags.get_flag("greeting").unwrap().value_as_string().as_deref(), Some("hello"));
    assert_eq!(flags.get_flag("limit").unwrap().value_as_i64(), Some(42));
    assert_eq!(flags.get_flag("switch").unwrap().value_as_bool(), Some(true));
    assert_eq!(flags.get_flag("blank").unwrap().value_as_string().as_deref(), Some(""));
    assert_eq!(text(flags, "greeting_unicode"), "žluťoučký kůň ✓ 🐎");
    assert_eq!(text(flags, "colour"), "grey");
    assert!(flags.get_flag("nowhere").is_err());
}

fn eventually(what: &str, ok: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(15);
    while !ok() {
        assert!(Instant::now() < end, "not within 15 s: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn document() -> Vec<u8> {
    let request = reqwest::blocking::Client::new().get(env("API") + "environment-document/");
    request.header("X-Environment-Key", env("SERVER_KEY")).send().unwrap().bytes().unwrap().to_vec()
}

/// First parts of what the engine hashes: numbers of states with variants and of the
/// segment with a split.
fn hashed() -> Vec<String> {
    let document: Value = serde_json::from_slice(&document()).unwrap();
    let segments = document["project"]["segments"].as_array().unwrap();
    let states = document["feature_states"].as_array().unwrap().iter();
    let mut keys: Vec<String> = states
        .chain(segments.iter().flat_map(|s| s["feature_states"].as_array().unwrap()))
        .filter(|s| !s["multivariate_feature_state_values"].as_array().unwrap().is_empty())
        .map(|s| s["django_id"].to_string())
        .collect();
    keys.extend(segments.iter().filter(|s| s["name"] == "op_split").map(|s| s["id"].to_string()));
    keys
}

fn agreement() {
    let (keys, mut compared) = (hashed(), 0);
    let all: Vec<Value> = serde_json::from_slice(&std::fs::read(env("IDENTITIES")).unwrap()).unwrap();
    assert_eq!(all.len(), 2000);
    let far = Flagsmith::new(env("SERVER_KEY"), options());
    let near = local(60_000);
    for i in &all {
        let name = i["identifier"].as_str().unwrap();
        // This engine does not hash again when a bucket is 100, as the reference does: one
        // in 9,999 buckets.
        let id = format!("{}_{name}", env("CLIENT_KEY"));
        if keys.iter().any(|k| get_hashed_percentage_for_object_ids(vec![k, &id], 1) >= 100.0) {
            continue;
        }
        compared += 1;
        let a = shown(&identify(&far, name, i["traits"].clone()));
        let b = shown(&identify(&near, name, i["traits"].clone()));
        let differ: Vec<_> =
            a.iter().filter(|(k, v)| b.get(*k) != Some(v)).map(|(k, v)| format!("{k}: remote {v:?} local {:?}", b.get(k))).collect();
        assert!(differ.is_empty() && a.len() == b.len(), "{i}: {}", differ.join(", "));
    }
    assert!(compared > 1980, "{compared} compared");
}

fn offline() {
    let file = std::env::temp_dir().join(unique("document.json"));
    std::fs::write(&file, document()).unwrap();
    let handler = LocalFileHandler::new(file.to_str().unwrap()).unwrap();
    std::fs::remove_file(&file).unwrap();
    let client = Flagsmith::new(
        env("SERVER_KEY"),
        FlagsmithOptions {
            api_url: "http://127.0.0.1:9/".into(),
            offline_mode: true,
            offline_handler: Some(Box::new(handler)),
            ..Default::default()
        },
    );
    defaults(&client.get_environment_flags().unwrap());
    assert_eq!(text(&identify(&client, "x", json!({"plan": "gold"})), "ranked"), "gold");
}

fn stored(name: &str) -> Option<i64> {
    let found = admin("GET", &format!("environments/{}/identities/?q=\"{name}\"", env("CLIENT_KEY")), None);
    found["results"][0]["id"].as_i64()
}

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    let cases: Vec<(&str, Box<dyn Fn()>)> = vec![
        ("environment flags, remote", Box::new(|| defaults(&remote().get_environment_flags().unwrap()))),
        ("environment flags, local", Box::new(|| defaults(&local(60_000).get_environment_flags().unwrap()))),
        (
            "a flag for servers only",
            Box::new(|| {
                assert!(remote().get_environment_flags().unwrap().get_flag("secret").is_err());
                let server = Flagsmith::new(env("SERVER_KEY"), options());
                assert!(server.get_environment_flags().unwrap().get_flag("secret").is_ok());
            }),
        ),
        (
            "segments, priorities, typed values",
            Box::new(|| {
                for (n, client) in [remote(), local(60_000)].iter().enumerate() {
                    let gold = identify(client, &unique(&format!("gold-{n}")), json!({"plan": "gold", "age": 50}));
                    assert_eq!(text(&gold, "ranked"), "gold");
                    assert_eq!(gold.get_flag("typed").unwrap().value_as_i64(), Some(99));
                    let free = identify(client, &unique(&format!("free-{n}")), json!({"plan": "free", "age": 50}));
                    assert_eq!(free.get_flag("typed").unwrap().value_as_bool(), Some(false));
                }
            }),
        ),
        (
            "identity overrides",
            Box::new(|| {
                for client in [remote(), local(60_000)] {
                    assert_eq!(text(&client.get_identity_flags("vip-11", None, None).unwrap(), "personal"), "for vip-11");
                    assert_eq!(text(&identify(&client, "vip-12", json!({"plan": "gold"})), "ranked"), "personal");
                }
            }),
        ),
        (
            "traits are kept, null forgets one",
            Box::new(|| {
                let name = unique("kept");
                let first = shown(&identify(&remote(), &name, json!({"plan": "gold", "age": 33, "score": 1.5, "beta": true})));
                let again = shown(&remote().get_identity_flags(&name, None, None).unwrap());
                assert_eq!(first, again);
                let none = FlagsmithValue { value: String::new(), value_type: FlagsmithValueType::None };
                let flags = remote().get_identity_flags(&name, Some(vec![SDKTrait::new("plan".into(), none)]), None).unwrap();
                assert!(!flags.is_feature_enabled("op_equal").unwrap());
                assert!(flags.is_feature_enabled("op_equal_number").unwrap());
            }),
        ),
        (
            "transient identities and traits",
            Box::new(|| {
                let ghost = unique("ghost");
                let flags = remote().get_identity_flags(&ghost, Some(traits(&json!({"plan": "gold"}))), Some(true)).unwrap();
                assert_eq!(text(&flags, "ranked"), "gold");
                assert_eq!(stored(&ghost), None);
                let half = unique("half");
                let plan = SDKTrait::new_with_transient("plan".into(), value(&json!("gold")), true);
                assert_eq!(text(&remote().get_identity_flags(&half, Some(vec![plan]), None).unwrap(), "ranked"), "gold");
                assert_eq!(text(&remote().get_identity_flags(&half, None, None).unwrap(), "ranked"), "nobody");
                assert!(stored(&half).is_some());
            }),
        ),
        (
            "segments of an identity",
            Box::new(|| {
                let plan = Trait { trait_key: "plan".into(), trait_value: value(&json!("gold")) };
                let names: Vec<_> =
                    local(60_000).get_identity_segments("x", Some(vec![plan])).unwrap().into_iter().map(|s| s.name).collect();
                assert!(names.contains(&"op_equal".into()) && names.contains(&"op_not_set".into()), "{names:?}");
                assert!(!names.contains(&"op_set".into()), "{names:?}");
            }),
        ),
        ("local and remote agree for 2,000 identities", Box::new(agreement)),
        (
            "changes show at once and after a poll",
            Box::new(|| {
                let polling = local(200);
                for n in ["one", "two"] {
                    let to = unique(n) + &format!("{:?}", SystemTime::now());
                    set_live(true, &to);
                    assert_eq!(text(&remote().get_environment_flags().unwrap(), "live"), to);
                    eventually(n, || text(&polling.get_environment_flags().unwrap(), "live") == to);
                }
            }),
        ),
        ("offline from a document", Box::new(offline)),
        (
            "a wrong key",
            Box::new(|| {
                assert!(Flagsmith::new("no-such-key".into(), options()).get_environment_flags().is_err());
                let built_in = |name: &str| Flag {
                    feature_name: name.into(),
                    value: FlagsmithValue { value: "built in".into(), value_type: FlagsmithValueType::String },
                    ..Default::default()
                };
                let client = Flagsmith::new("no-such-key".into(), FlagsmithOptions { default_flag_handler: Some(built_in), ..options() });
                assert_eq!(text(&client.get_environment_flags().unwrap(), "greeting"), "built in");
            }),
        ),
        (
            "flags with analytics on",
            Box::new(|| {
                let client = Flagsmith::new(env("CLIENT_KEY"), FlagsmithOptions { enable_analytics: true, ..options() });
                defaults(&client.get_environment_flags().unwrap()); // the client posts when it is dropped
            }),
        ),
    ];
    let total = cases.len();
    let mut failed = 0;
    for (name, body) in cases {
        match catch_unwind(AssertUnwindSafe(|| body())) {
            Ok(()) => println!("ok {name}"),
            Err(e) => {
                failed += 1;
                let why = e.downcast_ref::<String>().cloned().or(e.downcast_ref::<&str>().map(|s| s.to_string())).unwrap_or_default();
                println!("FAIL {name}: {}", why.replace('\n', " ").chars().take(600).collect::<String>());
            }
        }
    }
    println!("{} passed, {failed} failed", total - failed);
    std::process::exit(if failed > 0 { 1 } else { 0 });
}
