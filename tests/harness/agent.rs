//! The real agents as one type: what a scenario for all of them needs to know of each.

use super::{Program, Sandbox, agents};
use crate::stand_in::StandIn;

/// A real agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agent {
    Codex,
    Claude,
    Gemini,
    Opencode,
    /// The same program, as one server for a whole run.
    OpencodeServer,
}

impl Agent {
    /// The id of ralph's adapter for it.
    pub fn adapter(self) -> &'static str {
        match self {
            Agent::Codex => "codex",
            Agent::Claude => "claude",
            Agent::Gemini => "gemini",
            Agent::Opencode => "opencode-run",
            Agent::OpencodeServer => "opencode-server",
        }
    }

    /// Whether it tells what its requests cost.
    pub fn tells_cost(self) -> bool {
        match self {
            Agent::Claude | Agent::Opencode | Agent::OpencodeServer => true,
            Agent::Codex | Agent::Gemini => false,
        }
    }

    fn program(self) -> &'static str {
        match self {
            Agent::Codex => "codex",
            Agent::Claude => "claude",
            Agent::Gemini => "gemini",
            Agent::Opencode | Agent::OpencodeServer => "opencode",
        }
    }

    /// A sandbox in which the agent answers to its name and asks `model`, repeating a failed request `retries` times,
    /// without what it would read at every start and no test looks at.
    ///
    /// opencode cannot be told how often; it repeats five times. None where the agent cannot be installed.
    pub fn sandbox(self, model: &StandIn, retries: u32) -> Option<Sandbox> {
        let sandbox = self.sandbox_as_installed(model, retries)?;
        match self {
            Agent::Opencode | Agent::OpencodeServer => sandbox.lighten_opencode(),
            Agent::Codex | Agent::Claude | Agent::Gemini => {}
        }
        Some(sandbox)
    }

    /// A sandbox as [`Agent::sandbox`], in which the agent does all that it does on a user's machine.
    pub fn sandbox_as_installed(self, model: &StandIn, retries: u32) -> Option<Sandbox> {
        let mut sandbox = Sandbox::new();
        self.join(&mut sandbox, model, retries)?;
        sandbox.share_what_is_known_of_agents();
        Some(sandbox)
    }

    /// Has the agent answer to its name in `sandbox`, too.
    pub fn join(self, sandbox: &mut Sandbox, model: &StandIn, retries: u32) -> Option<()> {
        let program = agents::program(self.program())?;
        sandbox.add_agent(&program);
        match self {
            Agent::Codex => sandbox.connect_codex(model, retries),
            Agent::Claude => sandbox.connect_claude(model, retries),
            Agent::Gemini => sandbox.connect_gemini(model, retries),
            Agent::Opencode | Agent::OpencodeServer => sandbox.connect_opencode(model),
        }
        Some(())
    }

    /// The agent by itself, without ralph: headless, allowed everything, its prompt on standard input.
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
        };
        let program = agents::program(self.program()).expect("the sandbox has it");
        sandbox
            .program(program)
            .args(args)
            .env("IS_SANDBOX", "1")
            .env("GEMINI_CLI_NO_RELAUNCH", "true")
            .stdin_from(&file)
    }
}

/// Makes a test of a scenario for each real agent: `each_agent!(scenario)` with `fn scenario(agent: Agent)`.
macro_rules! each_agent {
    ($scenario:ident) => {
        $crate::harness::agent::each_agent!(
            $scenario: codex Codex, claude Claude, gemini Gemini, opencode Opencode, opencode_server OpencodeServer
        );
    };
    ($scenario:ident: $($name:ident $agent:ident),+) => {
        $(
            #[test]
            fn $name() {
                $scenario($crate::harness::agent::Agent::$agent);
            }
        )+
    };
}

/// Makes a test of a scenario for each agent with a live channel of its own.
macro_rules! each_live_agent {
    ($scenario:ident) => {
        $crate::harness::agent::each_live_agent!($scenario: claude Claude, codex Codex, gemini Gemini, opencode Opencode);
    };
    ($scenario:ident: $($name:ident $agent:ident),+) => {
        mod $scenario {
            use crate::harness::agent::each_agent;

            use super::$scenario;

            each_agent!($scenario: $($name $agent),+);
        }
    };
}

pub(crate) use {each_agent, each_live_agent};
