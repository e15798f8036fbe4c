//! OpenTelemetry of a run: a collector, which is a stand-in that checks what it receives, or files.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

use serde_json::Value;

use crate::harness::{SOON, Sandbox, Script, http::free_port, running::Program, wait_until, warnings};

/// How a collector answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    Well,
    Refuses,
    /// It never answers.
    Hangs,
    /// Its answer never ends.
    Floods,
}

/// A stand-in for a collector.
struct Collector {
    address: String,
    received: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Collector {
    fn start(manner: Manner) -> Collector {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let received = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&received);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let kept = Arc::clone(&kept);
                thread::spawn(move || serve(stream, manner, &kept));
            }
        });
        Collector { address, received }
    }

    /// The spans that were received, in order.
    fn spans(&self) -> Vec<Value> {
        let received = self.received.lock().unwrap();
        let traces = received.iter().filter(|(path, _)| path == "/v1/traces");
        traces.flat_map(|(_, body)| spans_of(body)).collect()
    }

    fn metrics(&self) -> Vec<Value> {
        let received = self.received.lock().unwrap();
        let metrics = received.iter().filter(|(path, _)| path == "/v1/metrics");
        metrics.flat_map(|(_, body)| metrics_of(body)).collect()
    }
}

fn serve(stream: TcpStream, manner: Manner, kept: &Mutex<Vec<(String, Value)>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    loop {
        let (mut path, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            let line = line.trim_end().to_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(found) = line.strip_prefix("post ").and_then(|rest| rest.split(' ').next()) {
                found.clone_into(&mut path);
            }
            if let Some(found) = line.strip_prefix("content-length:") {
                length = found.trim().parse().unwrap();
            }
            if let Some(kind) = line.strip_prefix("content-type:") {
                assert_eq!(kind.trim(), "application/json");
            }
        }
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let answer = match manner {
            Manner::Well => {
                let body = serde_json::from_slice(&body).expect("JSON");
                kept.lock().unwrap().push((path, body));
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
            }
            Manner::Refuses => "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n",
            Manner::Hangs => {
                _ = reader.read(&mut [0]);
                return;
            }
            Manner::Floods => {
                _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
                while stream.write_all(&[b'x'; 4096]).is_ok() {}
                return;
            }
        };
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

/// The spans of a request to `/v1/traces`.
fn spans_of(body: &Value) -> Vec<Value> {
    let resource = &body["resourceSpans"][0];
    assert_eq!(attribute(&resource["resource"], "service.name"), "ralph");
    assert_eq!(resource["scopeSpans"][0]["scope"]["name"], "ralph");
    resource["scopeSpans"][0]["spans"].as_array().expect("spans").clone()
}

fn metrics_of(body: &Value) -> Vec<Value> {
    let scope = &body["resourceMetrics"][0]["scopeMetrics"][0];
    scope["metrics"].as_array().expect("metrics").clone()
}

/// The value of an attribute; null without it.
fn attribute(of: &Value, key: &str) -> Value {
    let mut attributes = of["attributes"].as_array().into_iter().flatten();
    let found = attributes.rfind(|attribute| attribute["key"] == key);
    let value = found.and_then(|attribute| attribute["value"].as_object()?.values().next().cloned());
    value.unwrap_or_default()
}

/// Checks that spans have the form of OTLP in JSON, one trace, and no id twice. Returns the names, each with that of
/// the parent.
#[track_caller]
fn tree(spans: &[Value]) -> Vec<(String, String)> {
    let text = |span: &Value, key: &str| span[key].as_str().unwrap_or_default().to_owned();
    let is_id = |id: &str, digits: usize| {
        id.len() == digits && id.bytes().all(|digit| digit.is_ascii_hexdigit()) && id.bytes().any(|digit| digit != b'0')
    };
    let mut names = BTreeMap::new();
    let mut traces = BTreeSet::new();
    for span in spans {
        let id = text(span, "spanId");
        assert!(is_id(&id, 16) && is_id(&text(span, "traceId"), 32), "{span}");
        traces.insert(text(span, "traceId"));
        let [start, end] = ["startTimeUnixNano", "endTimeUnixNano"].map(|key| text(span, key).parse::<u64>().unwrap());
        assert!(start <= end && start > 1_700_000_000_000_000_000, "{span}");
        assert_eq!(span["kind"], 1, "{span}");
        let is_failed = span["status"]["code"] == 2;
        assert_eq!(is_failed, !attribute(span, "error.type").is_null(), "{span}");
        assert_eq!(names.insert(id, text(span, "name")), None, "sent twice: {span}");
    }
    assert_eq!(traces.len(), 1);
    let parent = |span: &Value| match &span["parentSpanId"] {
        Value::Null => String::new(),
        id => names
            .get(id.as_str().unwrap())
            .cloned()
            .unwrap_or_else(|| panic!("no parent: {span}")),
    };
    spans.iter().map(|span| (text(span, "name"), parent(span))).collect()
}

/// An agent that uses two tools, one of which fails, and reports its usage.
const AGENT: &str = r#"
printf '{"type":"opened","session":"s-%s","model":"m-1"}\n' "$n"
printf '{"type":"tool-started","call":"c1","tool":"Bash","input":"secret argument"}\n'
printf '{"type":"tool-ended","call":"c1","tool":"Bash","ok":true,"output":"secret output"}\n'
printf '{"type":"tool-started","call":"c2","tool":"Edit","input":"x"}\n'
printf '{"type":"tool-ended","call":"c2","tool":"Edit","ok":false,"output":"no"}\n'
printf '{"type":"usage","usage":{"inputTokens":1200,"cachedTokens":200,"outputTokens":34,"costUsd":0.25}}\n'
work; over Ready."#;

fn sandbox(tasks: usize, agent: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.plan(tasks);
    sandbox.install(&Script::jsonl(agent));
    sandbox
}

fn telling(sandbox: &Sandbox, target: &str) -> Program {
    sandbox.looping(["--goal", "tests=true"]).env("RALPH_OTEL", target)
}

#[test]
fn a_collector_gets_the_spans_and_metrics_of_a_run() {
    let collector = Collector::start(Manner::Well);
    let sandbox = sandbox(1, AGENT);
    let finished = telling(&sandbox, &collector.address).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let spans = collector.spans();
    let names = tree(&spans);
    let expected = [
        ("execute_tool Bash", "invoke_agent script"),
        ("execute_tool Edit", "invoke_agent script"),
        ("invoke_agent script", "iteration 1"),
        ("goal tests", "iteration 1"),
        ("iteration 1", "invoke_workflow ralph"),
        ("invoke_workflow ralph", ""),
    ];
    let expected = expected.map(|(name, parent)| (name.to_owned(), parent.to_owned()));
    assert_eq!(names, expected);
    let of = |name: &str| spans.iter().find(|span| span["name"] == name).unwrap();
    let agent = of("invoke_agent script");
    for (key, value) in [
        ("gen_ai.operation.name", "invoke_agent"),
        ("gen_ai.agent.name", "script"),
        ("gen_ai.provider.name", "script"),
        ("gen_ai.response.model", "m-1"),
        ("gen_ai.conversation.id", "s-1"),
        ("gen_ai.usage.input_tokens", "1200"),
        ("gen_ai.usage.cache_read.input_tokens", "200"),
        ("gen_ai.usage.output_tokens", "34"),
    ] {
        assert_eq!(attribute(agent, key), value, "{key}: {agent}");
    }
    assert_eq!(attribute(agent, "ralph.cost_usd"), 0.25);
    let tool = of("execute_tool Edit");
    assert_eq!(attribute(tool, "gen_ai.tool.name"), "Edit");
    assert_eq!(attribute(tool, "gen_ai.tool.call.id"), "c2");
    assert_eq!(attribute(tool, "error.type"), "_OTHER");
    let run = of("invoke_workflow ralph");
    assert_eq!(attribute(run, "ralph.exit_code"), "0");
    assert_eq!(attribute(run, "ralph.end"), "done (passed)");
    assert_eq!(attribute(of("goal tests"), "ralph.goal.passed"), true);
    let metrics = collector.metrics();
    let [tokens, cost] = &metrics[..] else {
        panic!("{metrics:#?}")
    };
    assert_eq!(tokens["name"], "gen_ai.client.token.usage");
    let points = tokens["histogram"]["dataPoints"].as_array().unwrap();
    let sums: Vec<_> = points
        .iter()
        .map(|point| {
            let counts = point["bucketCounts"].as_array().unwrap();
            assert_eq!(counts.len(), point["explicitBounds"].as_array().unwrap().len() + 1);
            (attribute(point, "gen_ai.token.type"), point["sum"].clone())
        })
        .collect();
    assert_eq!(sums, [("input".into(), 1200.into()), ("output".into(), 34.into())]);
    let point = &cost["sum"]["dataPoints"][0];
    assert_eq!(
        (&cost["name"], &point["asDouble"]),
        (&"ralph.cost".into(), &0.25.into())
    );
    let all = format!("{spans:?}{metrics:?}");
    assert!(!all.contains("secret"), "what a tool gets and prints is told to nobody");
}

#[test]
fn a_collector_that_is_gone_hangs_refuses_or_floods_holds_nothing_up_and_is_told_of_once() {
    let manners = [None, Some(Manner::Hangs), Some(Manner::Refuses), Some(Manner::Floods)];
    thread::scope(|scope| {
        for manner in manners {
            scope.spawn(move || holds_nothing_up(manner));
        }
    });
}

#[track_caller]
fn holds_nothing_up(manner: Option<Manner>) {
    let collector = manner.map(Collector::start);
    let address = match &collector {
        Some(collector) => collector.address.clone(),
        None => format!("http://127.0.0.1:{}", free_port()),
    };
    // The run ends when the notice has come, or at once if a flood counts as an answer.
    let waits = match manner {
        Some(Manner::Floods) => "",
        _ => "[ $n = 1 ] || await go; ",
    };
    let sandbox = sandbox(2, &format!("{waits}{AGENT}"));
    let running = telling(&sandbox, &address).start();
    if !waits.is_empty() {
        running.wait_for_line(SOON, |line| line.contains("OpenTelemetry gets nothing"));
        sandbox.release("go");
    }
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{manner:?}: {finished:?}");
    let told = warnings(&sandbox.journal());
    let about = told
        .iter()
        .filter(|told| told.contains("OpenTelemetry gets nothing of this run at "));
    assert_eq!(about.count(), usize::from(!waits.is_empty()), "{manner:?}: {told:?}");
}

#[test]
fn a_short_run_says_at_its_end_that_nothing_was_sent() {
    let sandbox = sandbox(1, AGENT);
    let address = format!("http://127.0.0.1:{}", free_port());
    let finished = telling(&sandbox, &address).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let told = format!("warning: OpenTelemetry gets nothing of this run at {address}: ");
    assert!(finished.stderr.contains(&told), "{finished:?}");
}

#[test]
fn a_resumed_run_sends_nothing_twice() {
    let collector = Collector::start(Manner::Well);
    let sandbox = sandbox(2, &format!("[ $n = 1 ] || await go; {AGENT}"));
    let running = telling(&sandbox, &collector.address).start();
    let has_sent = || {
        let is_there = |span: &Value| span["name"] == "iteration 1";
        collector.spans().iter().any(is_there).then_some(())
    };
    wait_until(SOON, "the first iteration", has_sent);
    let position = sandbox.the_run().telemetry();
    wait_until(SOON, "the position", || position.exists().then_some(()));
    running.kill();
    _ = running.wait(SOON);
    sandbox.waits_until_nothing_runs();
    sandbox.release("go");
    let finished = telling(&sandbox, &collector.address).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let names = tree(&collector.spans());
    let iterations = names.iter().filter(|(name, _)| name.starts_with("iteration "));
    let iterations: Vec<&str> = iterations.map(|(name, _)| name.as_str()).collect();
    assert_eq!(iterations, ["iteration 1", "iteration 2", "iteration 3"], "{names:?}");
}

#[test]
fn a_file_gets_the_same_as_the_report_of_an_ended_run() {
    let sandbox = sandbox(1, AGENT);
    let inside = sandbox.project().join("spans.jsonl").display().to_string();
    let refused = telling(&sandbox, &inside).run(SOON);
    assert_eq!(refused.code(), Some(3), "{refused:?}");
    assert!(refused.stderr.contains("lies in the project"), "{refused:?}");
    let finished = telling(&sandbox, "~/spans.jsonl").run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let read = |name: &str| -> Vec<Value> {
        let text = fs::read_to_string(sandbox.home().join(name)).unwrap_or_default();
        let bodies = text.lines().map(|line| serde_json::from_str(line).expect("JSON"));
        bodies
            .flat_map(|body: Value| {
                if body["resourceSpans"].is_null() {
                    metrics_of(&body)
                } else {
                    spans_of(&body)
                }
            })
            .collect()
    };
    let (spans, metrics) = (read("spans.jsonl"), read("spans.metrics.jsonl"));
    assert_eq!((tree(&spans).len(), metrics.len()), (6, 2));
    let exported = sandbox.ralph(["report", "--otel", "~/again.jsonl"]).run(SOON);
    assert_eq!(exported.code(), Some(0), "{exported:?}");
    assert!(exported.stdout.contains("6 spans to ~/again.jsonl"), "{exported:?}");
    assert_eq!((read("again.jsonl"), read("again.metrics.jsonl")), (spans, metrics));
    let collector = Collector::start(Manner::Refuses);
    let refused = sandbox.ralph(["report", "--otel", &collector.address]).run(SOON);
    assert_eq!(refused.code(), Some(1), "{refused:?}");
    assert!(refused.stderr.contains("503"), "{refused:?}");
}
