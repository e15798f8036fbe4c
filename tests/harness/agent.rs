//! The real agents as one type, with the facts that scenarios for all of them need.

use serde_json::json;

use super::{Program, Sandbox, agents};
use crate::stand_in::StandIn;

/// A real agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agent {
    Codex,
    Claude,
    Gemini,
    Opencode,
    /// opencode as one server for a whole run.
    OpencodeServer,
    Copilot,
    Kilo,
    Kimi,
    Pi,
    Cline,
    /// ralph's own agent, with a model behind OpenAI's chat completions.
    Native,
    /// ralph's own agent, with a model behind OpenAI's responses.
    NativeResponses,
    /// ralph's own agent, with a model behind Anthropic's messages.
    NativeMessages,
}

impl Agent {
    /// The id of ralph's adapter for the agent.
    pub fn adapter(self) -> &'static str {
        match self {
            Agent::Codex => "codex",
            Agent::Claude => "claude",
            Agent::Gemini => "gemini",
            Agent::Opencode => "opencode-run",
            Agent::OpencodeServer => "opencode-server",
            Agent::Copilot => "copilot",
            Agent::Kilo => "kilo",
            Agent::Kimi => "kimi",
            Agent::Pi => "pi",
            Agent::Cline => "cline",
            Agent::Native | Agent::NativeResponses | Agent::NativeMessages => "native",
        }
    }

    /// Whether the agent reports the cost of its requests.
    pub fn tells_cost(self) -> bool {
        match self {
            Agent::Claude | Agent::Opencode | Agent::OpencodeServer | Agent::Kilo | Agent::Pi => true,
            Agent::Codex
            | Agent::Gemini
            | Agent::Copilot
            | Agent::Kimi
            | Agent::Cline
            | Agent::Native
            | Agent::NativeResponses
            | Agent::NativeMessages => false,
        }
    }

    /// Whether the agent reports how many tokens it used.
    pub fn tells_tokens(self) -> bool {
        !matches!(self, Agent::Copilot | Agent::Kimi)
    }

    /// Whether this is ralph's own agent.
    pub fn is_native(self) -> bool {
        matches!(self, Agent::Native | Agent::NativeResponses | Agent::NativeMessages)
    }

    /// The agent's program; `None` for ralph's own agent.
    fn program(self) -> Option<&'static str> {
        match self {
            Agent::Codex => Some("codex"),
            Agent::Claude => Some("claude"),
            Agent::Gemini => Some("gemini"),
            Agent::Opencode | Agent::OpencodeServer => Some("opencode"),
            Agent::Copilot => Some("copilot"),
            Agent::Kilo => Some("kilo"),
            Agent::Kimi => Some("kimi"),
            Agent::Pi => Some("pi"),
            Agent::Cline => Some("cline"),
            Agent::Native | Agent::NativeResponses | Agent::NativeMessages => None,
        }
    }

    /// A sandbox in which the agent answers to its name, uses `model` and repeats a failed request `retries` times. It
    /// skips what the agent would read at every start and no test needs.
    ///
    /// The retries of opencode cannot be set; it repeats five times. `None` if the agent cannot be installed.
    pub fn sandbox(self, model: &StandIn, retries: u32) -> Option<Sandbox> {
        let sandbox = self.joined(Sandbox::new(), model, retries)?;
        match self {
            Agent::Opencode | Agent::OpencodeServer => sandbox.lighten_opencode(),
            _ => {}
        }
        Some(sandbox)
    }

    /// A sandbox as [`Agent::sandbox`], in which the agent behaves as on a user's machine. The home directory is
    /// outside of the places that every sandbox of ralph writes to.
    pub fn sandbox_as_installed(self, model: &StandIn, retries: u32) -> Option<Sandbox> {
        self.joined(Sandbox::outside_of_tmp(), model, retries)
    }

    fn joined(self, mut sandbox: Sandbox, model: &StandIn, retries: u32) -> Option<Sandbox> {
        self.join(&mut sandbox, model, retries)?;
        sandbox.share_what_is_known_of_agents();
        let price = json!({ "input": 1, "output": 2 });
        let prices = json!({ "stand-in": price, "cline": price, "codex": price, "gemini": price, "native": price });
        sandbox.set_variable("RALPH_PRICES", prices.to_string());
        Some(sandbox)
    }

    /// Adds the agent to `sandbox` under its name.
    pub fn join(self, sandbox: &mut Sandbox, model: &StandIn, retries: u32) -> Option<()> {
        if let Some(program) = self.program() {
            sandbox.add_agent(&agents::program(program)?);
        }
        match self {
            Agent::Codex => sandbox.connect_codex(model, retries),
            Agent::Claude => sandbox.connect_claude(model, retries),
            Agent::Gemini => sandbox.connect_gemini(model, retries),
            Agent::Opencode | Agent::OpencodeServer => sandbox.connect_opencode(model),
            Agent::Copilot => sandbox.connect_copilot(model),
            Agent::Kilo => sandbox.connect_kilo(model),
            Agent::Kimi => sandbox.connect_kimi(model),
            Agent::Pi => sandbox.connect_pi(model),
            Agent::Cline => sandbox.connect_cline(model),
            Agent::Native => sandbox.connect_native(&model.base_url(), retries),
            Agent::NativeResponses => {
                sandbox.set_variable("RALPH_NATIVE_WIRE", "responses");
                sandbox.connect_native(&model.base_url(), retries);
            }
            Agent::NativeMessages => {
                sandbox.set_variable("RALPH_NATIVE_WIRE", "anthropic");
                sandbox.connect_native(&model.origin(), retries);
            }
        }
        Some(())
    }

    /// The agent without ralph: headless, with every permission, its prompt on standard input.
    pub fn alone(self, sandbox: &Sandbox, prompt: &str) -> Program {
        let file = sandbox.home().join("prompt.txt");
        std::fs::write(&file, prompt).expect("the prompt's file");
        let args: &[&str] = match self {
            Agent::Codex => &["exec", "--json", "--dangerously-bypass-approvals-and-sandbox", "-"],
            Agent::Claude => &[
                "-p",
                "--output-format",
                "stream-json",
                "--verbose",
                "--dangerously-skip-permissions",
            ],
            Agent::Gemini => &[
                "--output-format",
                "stream-json",
                "--approval-mode",
                "yolo",
                "--skip-trust",
            ],
            Agent::Opencode | Agent::OpencodeServer => &["run", "--format", "json", "--auto"],
            Agent::Copilot
            | Agent::Kilo
            | Agent::Kimi
            | Agent::Pi
            | Agent::Cline
            | Agent::Native
            | Agent::NativeResponses
            | Agent::NativeMessages => {
                unreachable!("no test runs it without ralph")
            }
        };
        let program = self.program().and_then(agents::program).expect("the sandbox has it");
        sandbox
            .program(program)
            .args(args)
            .env("IS_SANDBOX", "1")
            .env("GEMINI_CLI_NO_RELAUNCH", "true")
            .stdin_from(&file)
    }
}

/// Makes a test of a scenario for each real agent: `each_agent!(scenario)` with `fn scenario(agent: Agent)`.
///
/// The agents after the semicolon belong to the full matrix: the loop's part of the scenario is the same with each agent.
/// Their tests are ignored unless `.ci/run` finds changed agent code.
macro_rules! each_agent {
    ($scenario:ident) => {
        $crate::harness::agent::each_agent!(
            $scenario: native Native;
            codex Codex, claude Claude, gemini Gemini, opencode Opencode, opencode_server OpencodeServer,
            native_responses NativeResponses, native_messages NativeMessages
        );
    };
    ($scenario:ident: $($name:ident $agent:ident),* $(; $($more:ident $other:ident),+)?) => {
        $(
            #[test]
            fn $name() {
                $scenario($crate::harness::agent::Agent::$agent);
            }
        )*
        $($(
            #[test]
            #[ignore = "part of the full matrix"]
            fn $more() {
                $scenario($crate::harness::agent::Agent::$other);
            }
        )+)?
    };
}

/// Makes a test of a scenario for each agent with a live channel, as [`each_agent`].
macro_rules! each_live_agent {
    ($scenario:ident) => {
        $crate::harness::agent::each_live_agent!(
            $scenario: claude Claude, native Native;
            codex Codex, gemini Gemini, opencode Opencode, native_responses NativeResponses, native_messages NativeMessages
        );
    };
    ($scenario:ident: $($name:ident $agent:ident),+ $(; $($more:ident $other:ident),+)?) => {
        mod $scenario {
            use crate::harness::agent::each_agent;

            use super::$scenario;

            each_agent!($scenario: $($name $agent),+ $(; $($more $other),+)?);
        }
    };
}

pub(crate) use {each_agent, each_live_agent};
