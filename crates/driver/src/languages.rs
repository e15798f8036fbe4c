//! Questions of agents to language servers, answered outside of the loop, which goes on meanwhile.

use ralph_core::{
    event::{AskId, Decision, Notice, PermissionRequest, ToolKind},
    run::Permissions,
};
use ralph_state::control::{ToolAnswer, ToolCall};
use ralph_tools::language::{LanguageQuery, ServerNotice, SymbolPosition, SyntaxPattern, words};
use ralph_words::short_duration;

use super::{
    run::Driver,
    tools::{ReplySender, answer},
};

impl Driver {
    /// Asks a language server for the agent, and replies when it has answered.
    pub(super) fn ask_language_server(&self, call: ToolCall, waits: bool, reply: ReplySender) {
        let Some(question) = question(call) else { return };
        if !waits {
            answer(reply, ToolAnswer::done(words::still_running()));
            return;
        }
        let (languages, permitted) = (self.tools.languages.clone(), self.edits_permitted());
        tokio::spawn(async move {
            let result = match languages.answer(question, permitted).await {
                Ok(found) => ToolAnswer::done(words::found(&found)),
                Err(why) => ToolAnswer::refused(words::no_answer(&why)),
            };
            answer(reply, result);
        });
    }

    /// Returns the permissions in effect, without pending and decided requests.
    fn rules_in_effect(&self) -> Permissions {
        let permissions = &self.state().view.permissions;
        Permissions {
            rules: permissions.rules.clone(),
            mode: permissions.mode,
            ..Permissions::default()
        }
    }

    /// Returns a function that tells of a file whether the rules let the agent edit it without asking.
    fn edits_permitted(&self) -> impl Fn(&std::path::Path) -> bool + Send + Sync + 'static {
        let policy = self.asked_policy().cloned();
        let permissions = self.rules_in_effect();
        move |path| {
            let Some(policy) = &policy else { return true };
            let request = PermissionRequest {
                paths: vec![path.to_string_lossy().into_owned()],
                ..PermissionRequest::new(AskId(String::new()), "Edit", ToolKind::Edit, String::new())
            };
            policy.rule(&request, &permissions).decision == Decision::Allow
        }
    }
}

fn question(call: ToolCall) -> Option<LanguageQuery> {
    let at = |file, line, column, symbol| SymbolPosition {
        file,
        line,
        column,
        symbol,
    };
    Some(match call {
        ToolCall::LspDefinition {
            file,
            line,
            column,
            symbol,
        } => LanguageQuery::Definition(at(file, line, column, symbol)),
        ToolCall::LspReferences {
            file,
            line,
            column,
            symbol,
        } => LanguageQuery::References(at(file, line, column, symbol)),
        ToolCall::LspHover {
            file,
            line,
            column,
            symbol,
        } => LanguageQuery::Hover(at(file, line, column, symbol)),
        ToolCall::LspSymbols { file: Some(file), .. } => LanguageQuery::Outline { file },
        ToolCall::LspSymbols { file: None, name } => LanguageQuery::Symbols {
            name: name.unwrap_or_default(),
        },
        ToolCall::LspDiagnostics { file } => LanguageQuery::Diagnostics { file },
        ToolCall::LspRename {
            file,
            line,
            column,
            symbol,
            new_name,
            apply,
        } => LanguageQuery::Rename {
            at: at(file, line, column, symbol),
            name: new_name,
            apply,
        },
        ToolCall::AstSearch {
            pattern,
            language,
            path,
        } => LanguageQuery::Search(SyntaxPattern {
            pattern,
            language,
            path,
        }),
        ToolCall::AstReplace {
            pattern,
            rewrite,
            language,
            path,
            apply,
        } => LanguageQuery::Replace {
            pattern: SyntaxPattern {
                pattern,
                language,
                path,
            },
            rewrite,
            apply,
        },
        ToolCall::Plan {}
        | ToolCall::GoalsCheck { .. }
        | ToolCall::ClaimDone { .. }
        | ToolCall::Blocked { .. }
        | ToolCall::Question { .. }
        | ToolCall::TestsChanged { .. }
        | ToolCall::Progress { .. }
        | ToolCall::TaskAdd { .. }
        | ToolCall::CommentAnswer { .. }
        | ToolCall::BackgroundStart { .. }
        | ToolCall::BackgroundStatus { .. }
        | ToolCall::BackgroundOutput { .. }
        | ToolCall::BackgroundCancel { .. } => return None,
    })
}

pub(super) fn language_server_notice(news: ServerNotice) -> Notice {
    match news {
        ServerNotice::Started { server, root, after_ms } => {
            let (root, after) = (root.display(), short_duration(after_ms));
            let text = format!("{server} runs for the agent in {root} (after {after})");
            Notice::info("language-server-started", text)
        }
        ServerNotice::Ended { server, why } => Notice::warning(
            "language-server-ended",
            format!("{server} ended ({why}) and is restarted once"),
        ),
        ServerNotice::GaveUp { server, why } => Notice::warning(
            "language-server-given-up",
            format!("{server} does not run ({why}): it is not available to the agent in this run"),
        ),
    }
}
