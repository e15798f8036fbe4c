//! The parts of messages and the errors of opencode, either as lines of `opencode run` or as events and lists of its
//! server.

use ralph_core::event::{AgentSignal, FileChange, Problem, ProblemKind, Usage};
use serde_json::Value;

use super::{
    calls::{path_in, tool_input},
    classify::{classify, from_status, with_time},
    clock::ZonedClock,
    fields::{number, text},
    head,
    reset::until_in_header,
};

/// The signal for the beginning of a tool use.
pub(crate) fn tool_started(part: &Value) -> AgentSignal {
    AgentSignal::ToolStarted {
        call: text(part, "/callID").to_owned(),
        tool: text(part, "/tool").to_owned(),
        input: tool_input(&part["state"]["input"]),
    }
}

/// The signal for the end of a tool use.
pub(crate) fn tool_ended(part: &Value) -> AgentSignal {
    let state = &part["state"];
    let exit = state.pointer("/metadata/exit").and_then(Value::as_i64);
    let times = number(state, "/time/start").zip(number(state, "/time/end"));
    AgentSignal::ToolEnded {
        call: text(part, "/callID").to_owned(),
        tool: text(part, "/tool").to_owned(),
        ok: text(state, "/status") == "completed" && exit.is_none_or(|code| code == 0),
        output: head(result(state)),
        duration_ms: times.map(|(start, end)| end.saturating_sub(start)),
    }
}

/// The result of a tool as it is shown to a user: the diff of a change, the lines of a file.
fn result(state: &Value) -> &str {
    let output = text(state, "/output");
    let diff = text(state, "/metadata/diff");
    let error = text(state, "/error");
    if !error.is_empty() {
        return error;
    }
    if let Some(at) = diff.find("\n@@") {
        return &diff[at + 1..];
    }
    let content = output.split_once("<content>\n");
    let content = content.and_then(|(head, rest)| head.starts_with("<path>").then_some(rest));
    content.map_or(output, |content| {
        content.trim_end().trim_end_matches("</content>").trim_end()
    })
}

/// The file that a tool changed, if the tool changes files.
pub(crate) fn file_change(part: &Value) -> Option<AgentSignal> {
    let existed = part.pointer("/state/metadata/exists").and_then(Value::as_bool);
    let change = match text(part, "/tool") {
        "write" if existed == Some(false) => FileChange::Added,
        "write" | "edit" | "multiedit" => FileChange::Updated,
        _ => return None,
    };
    let path = path_in(&part["state"]["input"])?.to_owned();
    Some(AgentSignal::FileChanged { path, change })
}

/// The usage of a step, reported at its end.
pub(crate) fn usage(part: &Value) -> Option<AgentSignal> {
    let count = |name: &str| number(part, &format!("/tokens/{name}"));
    let sum = |names: &[&str]| names.iter().filter_map(|name| count(name)).reduce(u64::saturating_add);
    // opencode writes 0 if it does not know the price.
    let cost = part.get("cost").and_then(Value::as_f64).filter(|cost| *cost > 0.0);
    part.get("tokens")
        .is_some_and(Value::is_object)
        .then(|| AgentSignal::Usage {
            usage: Usage {
                input_tokens: sum(&["input", "cache/read", "cache/write"]),
                cached_tokens: count("cache/read"),
                output_tokens: sum(&["output", "reasoning"]),
                cost_usd: cost,
                ..Usage::default()
            },
        })
}

/// Classifies an error that opencode or its server reports.
pub(crate) fn problem_of(error: &Value, clock: &ZonedClock) -> Problem {
    let said = match text(error, "/data/message") {
        "" => text(error, "/name"),
        said => said,
    };
    let worded = classify(said, clock);
    let body = text(error, "/data/responseBody");
    let of_body = (!body.is_empty()).then(|| classify(body, clock).kind);
    let status = number(error, "/data/statusCode").and_then(|status| u16::try_from(status).ok());
    let kind = match (text(error, "/name"), of_body) {
        ("ProviderAuthError", _) => ProblemKind::Auth,
        ("ContextOverflowError", _) => ProblemKind::ContextOverflow,
        (_, Some(kind)) if kind != ProblemKind::Other => kind,
        (_, _) => match status.and_then(from_status) {
            // The wording can be more precise: a quota is refused with the status of a rate limit.
            Some(ProblemKind::RateLimited { .. }) if worded.kind != ProblemKind::Other => worded.kind,
            Some(kind) => kind,
            None => worded.kind,
        },
    };
    let header = |name: &str| text(error, &format!("/data/responseHeaders/{name}")).to_owned();
    Problem::said(
        with_time(kind, || until_in_header(&header("retry-after"), clock)),
        worded.text,
    )
}

/// Whether the error of a tool means that the tool use was not allowed.
pub(crate) fn is_denial(error: &str) -> bool {
    [
        "The user rejected permission to use this specific tool call",
        "The user has specified a rule which prevents you from using this specific tool call",
    ]
    .iter()
    .any(|denial| error.starts_with(denial))
}
