//! Runs, a batch and their server, in every state that the page shows.

use crate::{
    harness::{SOON, Sandbox, Script, batches::sandbox_in, http::Http, running::Running, wait_until},
    web::{BLOCKED, Serving, serving},
};

use super::{asking_project, browser::Page};

/// A plan with sections, as long as people write them.
const PLAN: &str = "# Configuration\n\n## Read\n\n- [x] Read the file, or say why not\n- [x] Take defaults for what is missing\n\n\
## Parse\n\n- [ ] Parse tables and lists, with tests\n- [ ] Report errors with line and column, also those of nested tables\n\n\
## Document\n\n- [ ] Describe each option in the manual\n";

/// An agent that says and does something, and then waits.
const WORKS: &str = r#"said "The tests come first:\\n\\n- tables\\n- lists, with \`nested\` ones\\n\\n| case | lines |\\n|---|---|\\n| table | 12 |\\n| list | 7 |\\n\\nThen the parser."
echo "fn table() {}" > parser.rs; sed -i "0,/- \[ \]/s//- [x]/" PLAN.md; git add --all; git commit --quiet --message Parse
said "One more."; await go; over Done."#;

const BATCH: [&str; 8] = ["api", "cache", "docs", "errors", "login", "search", "tests", "ui"];

/// A place of the page, what is clicked there, and what is seen then.
pub struct State {
    pub name: &'static str,
    place: String,
    clicks: &'static [&'static str],
    seen: &'static str,
}

impl State {
    /// Goes to this state.
    #[track_caller]
    pub fn enter(&self, page: &Page) {
        // Another run is another page, whose controls have the names of those before.
        let of_page = |place: &str| place.split('/').take(3).collect::<Vec<_>>().join("/");
        let before = page.value("location.hash");
        let is_another = before.as_str().map(of_page) != Some(of_page(&self.place));
        page.value("document.querySelector('main').dataset.before = ''");
        page.value(&format!("location.hash = '{}'", self.place));
        if is_another {
            page.waits_for("!document.querySelector('[data-before]')");
        }
        for name in self.clicks {
            page.clicks(name);
        }
        page.sees(self.seen);
    }

    /// Closes the dialog of this state, if it has one.
    pub fn leave(&self, page: &Page) {
        page.value("document.querySelector('dialog[open]')?.close('')");
    }
}

/// The runs, which end with it.
pub struct Gallery {
    /// The projects of the runs, which are removed with it.
    _projects: Vec<Sandbox>,
    running: Vec<Running>,
    pub served: Serving,
    pub states: Vec<State>,
}

/// Begins the runs of every state.
pub fn gallery() -> Gallery {
    let asks = asking_project(PLAN);
    let state = asks.state().join("shared");
    let state = state.to_str().expect("a path").to_owned();
    let flags = ["--state-dir", &state];
    let [works, blocked, fails, done] = [(); 4].map(|()| Sandbox::new());
    works.write("PLAN.md", PLAN);
    works.install(&Script::jsonl(WORKS));
    blocked.plan(1);
    blocked.install(&Script::jsonl(BLOCKED));
    fails.plan(1);
    fails.install(&Script::jsonl(
        r#"[ "$n" = 1 ] && work; echo "$n" > attempt; over Done."#,
    ));
    done.plan(2);
    done.install(&Script::worker());
    let many = sandbox_in(
        Sandbox::new(),
        r#"case $plan in api|docs) ;; *) await go;; esac; tick; commit "Work of $plan"; over done"#,
        &BATCH,
    );
    let plans = BATCH.map(|plan| format!("{plan}.md"));
    let batch = many
        .ralph(["many", "--adapter", "script", "--headless", "--jobs", "3"])
        .env("FAKE_AGENT", env!("CARGO_BIN_EXE_fake-agent"))
        .args(flags)
        .args(&plans)
        .start();
    let mut running: Vec<Running> = [&asks, &works].map(|sandbox| sandbox.looping(flags).start()).into();
    running.push(batch);
    assert_eq!(blocked.looping(flags).run(SOON).code(), Some(8));
    let failing = fails
        .looping(flags)
        .args(["--goal", "green=echo 3 tests failed; exit 1", "--max-iterations", "2"])
        .run(SOON);
    assert_ne!(failing.code(), Some(0), "{failing:?}");
    assert_eq!(
        done.looping(flags).args(["--goal", "green=true"]).run(SOON).code(),
        Some(0)
    );
    let web = asks.ralph(["web", "--listen", "127.0.0.1:0"]).args(flags).start();
    let served = serving(&web, &asks, &flags);
    running.push(web);
    let http = Http::for_address(&served.base, &served.token);
    let batch = wait_until(SOON, "two merged plans", || {
        let batches = http.get("/batches").json();
        (batches[0]["board"]["counts"]["merged"] == 2).then(|| batches[0]["board"]["batch"].clone())
    });
    let runs = http.get("/runs").json();
    let of = |sandbox: &Sandbox| {
        let project = sandbox.project().display().to_string();
        let mut runs = runs.as_array().expect("a list").iter();
        let run = runs.find(|run| run["project"] == project.as_str()).expect("a run");
        run["run"].as_str().expect("a name").to_owned()
    };
    let run = |sandbox: &Sandbox, rest: &str| format!("#/runs/{}{rest}", of(sandbox));
    let project = done.project().display().to_string().replace('/', "%2F");
    let batch = batch.as_str().expect("a name");
    let state = |name, place, clicks, seen| State {
        name,
        place,
        clicks,
        seen,
    };
    let states = vec![
        state("list", "#/".to_owned(), &[][..], "All runs of project, and new ones"),
        state(
            "sessions",
            "#/".to_owned(),
            &["Browsers that are logged in"],
            "Log out here",
        ),
        state(
            "project",
            format!("#/projects/{project}"),
            &["Start a run"],
            "Most iterations",
        ),
        state("batch", format!("#/batches/{batch}"), &[], "2 of 8 plans merged"),
        state("asking", run(&asks, ""), &["Always allow…"], "Bash(rm -rf target/old)"),
        state("denying", run(&asks, "/history"), &["Deny…"], "1 commit"),
        state("working", run(&works, "/agent"), &["Messages"], "One more."),
        state("plan", run(&works, "/plan"), &[], "Describe each option"),
        state("editor", run(&works, "/plan"), &["Edit"], "Describe each option"),
        state("changes", run(&works, "/changes"), &[], "parser.rs"),
        state("stop", run(&works, "/agent"), &["Stop…"], "Stop the run?"),
        state(
            "change",
            run(&works, "/agent"),
            &["Change…"],
            "What do you want to change?",
        ),
        state(
            "limits",
            run(&works, "/agent"),
            &["Change…", "Limits"],
            "Raise a limit?",
        ),
        state("blocked", run(&blocked, ""), &[], "Which key do I use?"),
        state("failing", run(&fails, ""), &[], "Goal green failed"),
        state("done", run(&done, "/history"), &[], "Evidence"),
        state("log", run(&done, "/log"), &[], "iteration 2"),
    ];
    Gallery {
        _projects: vec![asks, works, blocked, fails, done, many],
        running,
        served,
        states,
    }
}

impl Drop for Gallery {
    fn drop(&mut self) {
        self.running.iter().rev().for_each(Running::kill);
    }
}
