//! Converts items of `codex app-server` to the format of `codex exec --json` and to ralph's types.

use ralph_core::event::{
    AgentSignal, AskId, PermissionRequest, Problem, ProblemKind, Question, ToolKind, Usage, UsageWindow, WindowKind,
};
use serde_json::{Value, json};

use crate::dialect::{
    ZonedClock, array, choices, classify, epoch_ms, from_status, one_line, percent, script, short_input, until_in_text,
    with_time,
};

/// The item in the format of `codex exec --json`; `None` for an item that this format does not report.
pub(super) fn as_exec(item: &Value) -> Option<Value> {
    let kind = match text(item, "type") {
        "agentMessage" => "agent_message",
        "reasoning" => return thought(item),
        "commandExecution" => "command_execution",
        "fileChange" => "file_change",
        "mcpToolCall" => "mcp_tool_call",
        "collabAgentToolCall" => "collab_tool_call",
        "webSearch" => "web_search",
        // Messages of the user and of hooks, and items that other items report or that are not reported.
        "userMessage" | "hookPrompt" | "functionCallOutput" | "plan" | "subAgentActivity" | "imageView" | "sleep"
        | "imageGeneration" | "enteredReviewMode" | "exitedReviewMode" | "contextCompaction" | "dynamicToolCall" => {
            return None;
        }
        _ => return Some(item.clone()),
    };
    let mut item = item.clone();
    item["type"] = json!(kind);
    if let Some(output) = item.get_mut("aggregatedOutput").map(Value::take) {
        item["aggregated_output"] = output;
    }
    let changes = item.get_mut("changes").and_then(Value::as_array_mut);
    for kind in changes
        .into_iter()
        .flatten()
        .filter_map(|change| change.get_mut("kind"))
    {
        *kind = kind.get("type").cloned().unwrap_or_default();
    }
    Some(item)
}

/// The summary of a thought, or its full text if the model provides one.
fn thought(item: &Value) -> Option<Value> {
    let lines = |field: &str| {
        let parts = item[field].as_array().into_iter().flatten();
        parts.filter_map(Value::as_str).collect::<Vec<_>>().join("\n")
    };
    let said = [lines("summary"), lines("content")]
        .into_iter()
        .find(|text| !text.is_empty())?;
    Some(json!({"id": item["id"], "type": "reasoning", "text": said}))
}

/// Token counts in codex's format.
pub(super) fn used(counts: &Value) -> Usage {
    Usage {
        input_tokens: counts["inputTokens"].as_u64(),
        cached_tokens: counts["cachedInputTokens"].as_u64(),
        output_tokens: counts["outputTokens"].as_u64(),
        ..Usage::default()
    }
}

/// The account's limits as last reported.
#[derive(Debug, Default)]
pub(super) struct AccountLimits {
    /// The time when the reached limits end.
    until_ms: Option<u64>,
    /// The windows as they were last reported to ralph.
    told: Vec<UsageWindow>,
}

impl AccountLimits {
    pub(super) fn update(&mut self, told: &Value, out: &mut Vec<AgentSignal>) {
        // Other limits are those of single models.
        if matches!(told["limitId"].as_str(), None | Some("codex")) {
            let windows = [&told["primary"], &told["secondary"]].into_iter();
            for window in windows.filter_map(window) {
                // codex repeats them with each request.
                if !self.told.contains(&window) {
                    self.told.retain(|known| known.kind != window.kind);
                    self.told.push(window);
                    out.push(AgentSignal::WindowUsed { window });
                }
            }
        }
        let windows = [&told["primary"], &told["secondary"]].into_iter();
        let reached = windows.filter(|window| window["usedPercent"].as_f64() >= Some(100.0));
        // The block ends with the last of them.
        self.until_ms = reached
            .filter_map(|window| window["resetsAt"].as_u64().map(epoch_ms))
            .max();
    }
}

fn window(told: &Value) -> Option<UsageWindow> {
    const DAY_MS: u64 = 86_400_000;
    let length_ms = told["windowDurationMins"].as_u64()?.saturating_mul(60_000);
    Some(UsageWindow {
        kind: match length_ms <= DAY_MS {
            true => WindowKind::FiveHour,
            false => WindowKind::Week,
        },
        used_percent: percent(told["usedPercent"].as_f64()?),
        resets_ms: epoch_ms(told["resetsAt"].as_u64()?),
        length_ms,
    })
}

/// Classifies an error of codex: its own name first, then the wording.
pub(super) fn problem_of(error: &Value, limits: &AccountLimits, clock: &ZonedClock) -> Problem {
    let said = match text(error, "additionalDetails") {
        "" => text(error, "message"),
        details => details,
    };
    let worded = classify(said, clock);
    let info = &error["codexErrorInfo"];
    let kind = match info.as_str() {
        Some(name) => from_name(name),
        None => from_transport(info, worded.kind),
    };
    let kind = match kind.unwrap_or(worded.kind) {
        // The account's time is exact to the second and needs no time zone.
        ProblemKind::QuotaExhausted { until_ms } => ProblemKind::QuotaExhausted {
            until_ms: limits.until_ms.or(until_ms),
        },
        kind => kind,
    };
    Problem::said(with_time(kind, || until_in_text(said, clock)), worded.text)
}

/// Maps codex's error names to kinds; `None` for names that are too general.
fn from_name(name: &str) -> Option<ProblemKind> {
    Some(match name {
        "unauthorized" => ProblemKind::Auth,
        "modelNotFound" => ProblemKind::ModelUnknown,
        "rateLimitExceeded" => ProblemKind::RateLimited { until_ms: None },
        "usageLimitExceeded" | "sessionBudgetExceeded" => ProblemKind::QuotaExhausted { until_ms: None },
        "serverOverloaded" | "internalServerError" | "flexUnavailable" | "policyCapacityUnavailable" => {
            ProblemKind::Overloaded
        }
        "contextWindowExceeded" => ProblemKind::ContextOverflow,
        "tooManyDenials" => ProblemKind::PermissionDenied,
        _ => return None,
    })
}

/// Classifies a failed request to the model by its HTTP status, if there was a response.
fn from_transport(info: &Value, worded: ProblemKind) -> Option<ProblemKind> {
    let failures = [
        "httpConnectionFailed",
        "responseStreamConnectionFailed",
        "responseStreamDisconnected",
        "responseTooManyFailedAttempts",
    ];
    let failure = failures.iter().find_map(|name| info.get(name))?;
    let status = failure["httpStatusCode"]
        .as_u64()
        .and_then(|status| u16::try_from(status).ok());
    match status.and_then(from_status) {
        // The wording can be more precise: a quota is refused with the status of a rate limit.
        Some(ProblemKind::RateLimited { .. }) | None if worded != ProblemKind::Other => Some(worded),
        Some(kind) => Some(kind),
        None => Some(ProblemKind::Network),
    }
}

/// The request to run a command.
pub(super) fn command_request(id: AskId, params: &Value) -> PermissionRequest {
    let command = params["command"].as_str();
    let network = &params["networkApprovalContext"];
    let url = network["host"]
        .as_str()
        .map(|host| format!("{}://{host}", text(network, "protocol")));
    let command = command.map(|command| script(command).unwrap_or_else(|| command.to_owned()));
    let title = url.as_deref().or(command.as_deref()).unwrap_or_default();
    PermissionRequest {
        title: one_line(title),
        kind: if url.is_some() {
            ToolKind::Fetch
        } else {
            ToolKind::Shell
        },
        url,
        command,
        ..request(id, "shell", params)
    }
}

/// The request to change files.
pub(super) fn change_request(id: AskId, params: &Value, changes: &Value) -> PermissionRequest {
    let changes = || changes.as_array().into_iter().flatten();
    let moved = |change: &Value| change["kind"]["move_path"].as_str().map(str::to_owned);
    let mut paths: Vec<String> = changes()
        .flat_map(|change| [Some(text(change, "path").to_owned()), moved(change)])
        .flatten()
        .collect();
    // A request for a whole directory.
    paths.extend(params["grantRoot"].as_str().map(str::to_owned));
    let diff: String = changes().map(unified).collect();
    PermissionRequest {
        title: one_line(&paths.join(" ")),
        kind: ToolKind::Edit,
        paths,
        diff: Some(diff).filter(|diff| !diff.is_empty()),
        ..request(id, "apply_patch", params)
    }
}

/// Questions to the user.
pub(super) fn question_request(id: AskId, params: &Value) -> PermissionRequest {
    let question = |asked: &Value| {
        let choices = choices(asked);
        Question {
            header: text(asked, "header").to_owned(),
            text: text(asked, "question").to_owned(),
            free_text: choices.is_empty() || asked["isOther"] == true,
            choices,
            ..Question::default()
        }
    };
    let questions: Vec<Question> = array(params, "/questions").map(question).collect();
    PermissionRequest {
        title: one_line(questions.first().map_or("", |question| &question.text)),
        questions,
        ..request(id, "question", params)
    }
}

/// The request to use a tool of an MCP server.
pub(super) fn tool_request(id: AskId, params: &Value) -> PermissionRequest {
    let (server, about) = (text(params, "serverName"), &params["_meta"]);
    PermissionRequest {
        title: short_input(&about["tool_params"]),
        kind: ToolKind::Mcp,
        reason: Some(text(about, "tool_description").to_owned()).filter(|reason| !reason.is_empty()),
        ..request(id, &format!("mcp__{server}__{}", text(about, "tool_name")), params)
    }
}

fn request(id: AskId, tool: &str, params: &Value) -> PermissionRequest {
    PermissionRequest {
        call: params["itemId"].as_str().map(str::to_owned),
        reason: params["reason"].as_str().map(str::to_owned),
        ..PermissionRequest::new(id, tool, ToolKind::Other, String::new())
    }
}

/// The diff of one changed file. For added and deleted files codex reports the whole content.
fn unified(change: &Value) -> String {
    let (path, diff) = (text(change, "path"), text(change, "diff"));
    let (old, new, sign) = match text(&change["kind"], "type") {
        "add" => ("/dev/null", path, "+"),
        "delete" => (path, "/dev/null", "-"),
        _ => (path, change["kind"]["move_path"].as_str().unwrap_or(path), ""),
    };
    let lines: String = diff.lines().map(|line| format!("{sign}{line}\n")).collect();
    format!("--- {old}\n+++ {new}\n{lines}")
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(error: &Value) -> Problem {
        problem_of(
            error,
            &AccountLimits::default(),
            &ZonedClock::at("2026-11-20T10:00:00Z"),
        )
    }

    #[test]
    fn an_error_is_what_codex_calls_it_and_where_it_calls_it_nothing_what_its_words_say() {
        let status = |status: u16| json!({"responseStreamDisconnected": {"httpStatusCode": status}});
        let quota = ProblemKind::QuotaExhausted { until_ms: None };
        let limited = ProblemKind::RateLimited { until_ms: None };
        for (info, message, kind) in [
            (json!("unauthorized"), "x", ProblemKind::Auth),
            (json!("modelNotFound"), "x", ProblemKind::ModelUnknown),
            (json!("usageLimitExceeded"), "x", quota),
            (json!("rateLimitExceeded"), "x", limited),
            (json!("serverOverloaded"), "x", ProblemKind::Overloaded),
            (json!("contextWindowExceeded"), "x", ProblemKind::ContextOverflow),
            (
                json!("other"),
                "stream disconnected before completion: y",
                ProblemKind::Network,
            ),
            (json!("other"), "x", ProblemKind::Other),
            (json!("somethingNew"), "x", ProblemKind::Other),
            (json!({"somethingNew": {}}), "x", ProblemKind::Other),
            (Value::Null, "x", ProblemKind::Other),
            (status(401), "x", ProblemKind::Auth),
            (status(429), "x", limited),
            (
                status(429),
                "Quota exceeded. Check your plan and billing details.",
                quota,
            ),
            (status(503), "x", ProblemKind::Overloaded),
            (
                json!({"httpConnectionFailed": {"httpStatusCode": null}}),
                "x",
                ProblemKind::Network,
            ),
        ] {
            let error = json!({"message": message, "codexErrorInfo": info});
            assert_eq!(problem(&error).kind, kind, "{error}");
        }
    }

    #[test]
    fn a_quota_ends_when_the_last_window_that_is_used_up_does() {
        let mut limits = AccountLimits::default();
        let reported = json!({
            "primary": {"usedPercent": 100, "resetsAt": 1_795_400_000_u64, "windowDurationMins": 300},
            "secondary": {"usedPercent": 40, "resetsAt": 1_795_900_000_u64, "windowDurationMins": 10_080},
        });
        let mut told = Vec::new();
        limits.update(&reported, &mut told);
        // codex repeats its report with each request.
        limits.update(&reported, &mut told);
        let windows: Vec<_> = told
            .into_iter()
            .filter_map(|signal| match signal {
                AgentSignal::WindowUsed { window } => Some((window.kind, window.used_percent, window.length_ms)),
                _ => None,
            })
            .collect();
        assert_eq!(
            windows,
            [
                (WindowKind::FiveHour, 100, 18_000_000),
                (WindowKind::Week, 40, 604_800_000)
            ]
        );
        let error = json!({"message": "try again at 6:40 PM", "codexErrorInfo": "usageLimitExceeded"});
        let clock = ZonedClock::at("2026-11-20T10:00:00Z");
        let until_ms = Some(1_795_400_000_000);
        assert_eq!(
            problem_of(&error, &limits, &clock).kind,
            ProblemKind::QuotaExhausted { until_ms }
        );
        limits.update(
            &json!({"primary": {"usedPercent": 0}, "secondary": null}),
            &mut Vec::new(),
        );
        let until_ms = Some(1_795_192_800_000);
        assert_eq!(
            problem_of(&error, &limits, &clock).kind,
            ProblemKind::QuotaExhausted { until_ms },
            "what is said counts where the account says nothing"
        );
    }

    #[test]
    fn the_change_of_a_file_is_shown_as_a_diff_whatever_it_is() {
        let change = |kind: Value, diff: &str| json!({"path": "a", "kind": kind, "diff": diff});
        let changes = json!([
            change(json!({"type": "add"}), "one\n"),
            change(json!({"type": "delete"}), "one\n"),
            change(json!({"type": "update", "move_path": "b"}), "@@ -1 +1 @@\n-one\n+two\n"),
        ]);
        let request = change_request(AskId("1".to_owned()), &json!({"itemId": "call"}), &changes);
        let diff = "--- /dev/null\n+++ a\n+one\n--- a\n+++ /dev/null\n-one\n--- a\n+++ b\n@@ -1 +1 @@\n-one\n+two\n";
        assert_eq!(request.diff.as_deref(), Some(diff));
        assert_eq!(request.paths, ["a", "a", "a", "b"]);
    }
}
