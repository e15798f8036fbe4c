//! Issues in, pull requests out: with the real `gh`, a stand-in for the forge, and real pushes to a bare repository.

mod delivery;
mod faults;
mod stand_in;
mod taking;

use std::{env, fs};

use crate::harness::{Sandbox, Script, running::Program, skipped};
use stand_in::{ForgeStandIn, TOKEN};

/// Set to `required`, it turns a missing `gh` into a failure.
const POLICY: &str = "RALPH_TEST_FORGE";

/// Shell code for every agent of these tests: `$plan` is the name of its plan, `tick` ticks the first open task.
const HANDS: &str = r#"
plan=$(basename "$RALPH_PLAN" .md)
tick() { sed -i '0,/- \[ \]/s//- [x]/' "$RALPH_PLAN"; }
commit() { git add --all && git commit --quiet --message "$1"; }
open() { grep -q -- "- \[ \] $1" "$RALPH_PLAN"; }
"#;

fn is_installed() -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let is_there = env::split_paths(&path).any(|dir| dir.join("gh").is_file());
    let is_required = env::var(POLICY).is_ok_and(|policy| policy == "required");
    assert!(is_there || !is_required, "gh is required and not installed");
    if !is_there {
        skipped("a test with the real gh: it is not installed");
    }
    is_there
}

/// A project whose remote is on the stand-in, with an agent.
struct Shop {
    forge: ForgeStandIn,
    sandbox: Sandbox,
}

impl Shop {
    /// Makes the project where keys can be hidden from agents; `None` if there is no `gh`.
    fn new(agent: &str) -> Option<Shop> {
        is_installed().then(|| Shop::in_sandbox(Sandbox::outside_of_tmp(), agent))
    }

    fn in_sandbox(sandbox: Sandbox, agent: &str) -> Shop {
        sandbox.install(&Script::jsonl(&format!("{HANDS}{agent}")));
        let forge = ForgeStandIn::start(&sandbox.project().with_file_name("forge"));
        let address = "https://github.com/team/shop.git";
        let config = sandbox.home().join(".gitconfig");
        let known = fs::read_to_string(&config).unwrap();
        let bare = forge.bare.display();
        fs::write(&config, format!("{known}[url \"{bare}\"]\n\tinsteadOf = {address}\n")).unwrap();
        let own = sandbox.config().join("gh");
        fs::create_dir_all(&own).unwrap();
        let socket = forge.socket().display();
        fs::write(own.join("config.yml"), format!("http_unix_socket: {socket}\n")).unwrap();
        let shop = Shop { forge, sandbox };
        shop.log_in(TOKEN);
        shop.sandbox.write("shared.txt", "base\n");
        shop.sandbox.git(["add", "--all"]);
        shop.sandbox.git(["commit", "--quiet", "--message", "Shop"]);
        shop.sandbox.git(["remote", "add", "origin", address]);
        shop.sandbox.git(["push", "--quiet", "origin", "main"]);
        shop
    }

    /// Gives `gh` a token.
    fn log_in(&self, token: &str) {
        let hosts = self.sandbox.config().join("gh/hosts.yml");
        let text = format!("github.com:\n    user: me\n    oauth_token: {token}\n    git_protocol: https\n");
        fs::write(hosts, text).unwrap();
    }

    fn ralph(&self, args: &str) -> Program {
        let program = self.sandbox.ralph(args.split_whitespace());
        program.env("FAKE_AGENT", env!("CARGO_BIN_EXE_fake-agent"))
    }

    /// `ralph take` with the scripted agent and a goal.
    fn take(&self, args: &str) -> Program {
        self.ralph("take").args(args.split_whitespace()).args([
            "--headless",
            "--adapter",
            "script",
            "--goal",
            "whole=! grep -q '<<<<' shared.txt",
        ])
    }
}
