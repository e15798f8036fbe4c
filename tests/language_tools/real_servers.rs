//! Real language servers, with every step of a call: `ralph mcp`, the run's socket, the run, the server.

use std::{fs, time::Instant};

use ralph_core::event::Event;
use serde_json::{Value, json};

use crate::harness::{SOON, Sandbox, Script, events, languages, wait_until};

/// Makes one call through `ralph mcp`. Returns the answer and whether it is an error.
fn call(sandbox: &Sandbox, tool: &str, arguments: &Value) -> (String, bool) {
    let call = json!({"id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}});
    let lines = format!("{}\n{call}\n", r#"{"id":0,"method":"initialize","params":{}}"#);
    let path = sandbox.home().join("call");
    fs::write(&path, lines).expect("the client's lines");
    let served = sandbox.ralph(["mcp"]).stdin_from(&path).run(2 * SOON);
    let answer = served
        .stdout
        .lines()
        .last()
        .and_then(|line| serde_json::from_str::<Value>(line).ok());
    let result = answer.map(|answer| answer["result"].clone()).unwrap_or_default();
    let text = result["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("{served:?}"));
    (text.to_owned(), result["isError"] == true)
}

/// Makes a call, and checks that the answer contains all of `wanted`.
#[track_caller]
fn answers(sandbox: &Sandbox, tool: &str, arguments: Value, wanted: &[&str]) {
    // On a busy machine indexing takes longer than a call may.
    let told = wait_until(6 * SOON, "an answer", || {
        Some(call(sandbox, tool, &arguments)).filter(|(text, _)| !text.contains("still indexing"))
    });
    let (text, refused) = told;
    let missing: Vec<&&str> = wanted.iter().filter(|wanted| !text.contains(**wanted)).collect();
    assert!(
        !refused && missing.is_empty(),
        "{tool} {arguments}: without {missing:?}: {text}"
    );
}

/// The list of tools offered to an agent of this run.
fn offered(sandbox: &Sandbox) -> String {
    let path = sandbox.home().join("list");
    let lines = "{\"id\":0,\"method\":\"initialize\",\"params\":{}}\n{\"id\":1,\"method\":\"tools/list\"}\n";
    fs::write(&path, lines).expect("the client's lines");
    sandbox.ralph(["mcp"]).stdin_from(&path).run(SOON).stdout
}

fn servers(sandbox: &Sandbox) -> Vec<i32> {
    let processes = sandbox.processes().into_iter();
    let is_server = |command: &str| command.contains("rust-analyzer") || command.contains("pyright");
    processes
        .filter(|process| is_server(&process.command))
        .map(|process| process.pid)
        .collect()
}

#[test]
#[ignore = "part of the full matrix"]
fn all_questions_are_answered_by_real_servers_which_stay_for_the_next_iteration_and_end_with_a_killed_ralph() {
    let (Some(rust), Some(python)) = (languages::rust_analyzer(), languages::program("pyright-langserver")) else {
        return;
    };
    let mut sandbox = Sandbox::new();
    sandbox.add_agent(&python);
    // The toolchain comes before rustup's own commands, which look for toolchains in the sandbox's home.
    sandbox.add_agent(&rust);
    sandbox.plan(2);
    sandbox.write(
        "Cargo.toml",
        "[package]\nname = \"demo\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
    );
    sandbox.write(
        "src/main.rs",
        "mod shapes;\n\nfn main() {\n    let größe = shapes::Square { side: 3 };\n    let _ = (\"😀\", größe.area());\n}\n",
    );
    sandbox.write(
        "src/shapes.rs",
        "pub struct Square {\n    pub side: u32,\n}\n\nimpl Square {\n    /// The area of it.\n    pub fn area(&self) -> u32 {\n        self.side * self.side\n    }\n}\n",
    );
    sandbox.install(&Script::jsonl("said \"ready $n\"; await go-$n; work; over ok"));
    // Indexing the standard library would take longer than the rest of the test.
    let lean = json!({"cargo": {"sysroot": null, "targetDir": true}, "cachePriming": {"enable": false}});
    let settings = json!({"languageServers": {"rust-analyzer": {"options": lean}}});
    fs::write(sandbox.config().join("ralph/config.json"), settings.to_string()).expect("settings");
    // A separate workspace in a directory, in another language.
    sandbox.write(
        "tools/pyproject.toml",
        "[project]\nname = \"tools\"\nversion = \"0.1\"\n",
    );
    sandbox.write(
        "tools/lib.py",
        "def add(a: int, b: int) -> int:\n    \"\"\"Adds.\"\"\"\n    return a + b\n",
    );
    sandbox.write("tools/app.py", "from lib import add\n\ngröße = add(1, 2)\n");
    let running = sandbox.looping(["--max-iterations", "2", "--sandbox", "on"]).start();
    running.wait_for_record(SOON, crate::loop_behaviour::said("ready 1"));
    assert!(offered(&sandbox).contains("lsp_definition"));

    let at = |file: &str, line: u32, symbol: &str| json!({"file": file, "line": line, "symbol": symbol});
    let area = || at("src/main.rs", 5, "größe.area");
    let cold = Instant::now();
    answers(
        &sandbox,
        "lsp_definition",
        area(),
        &["src/shapes.rs:7:12: pub fn area(&self) -> u32 {"],
    );
    let cold = cold.elapsed();
    answers(
        &sandbox,
        "lsp_hover",
        area(),
        &["pub fn area(&self) -> u32", "The area of it."],
    );
    answers(
        &sandbox,
        "lsp_references",
        at("src/main.rs", 4, "größe"),
        &["src/main.rs:4:9:", "src/main.rs:5:19:"],
    );
    answers(
        &sandbox,
        "lsp_symbols",
        json!({"file": "src/shapes.rs"}),
        &["1: struct Square", "7:   method area"],
    );
    answers(
        &sandbox,
        "lsp_symbols",
        json!({"name": "Square"}),
        &["src/shapes.rs:1: struct Square"],
    );
    sandbox.write(
        "src/main.rs",
        &sandbox
            .read("src/main.rs")
            .expect("a file")
            .replace("side: 3", "side: \"three\""),
    );
    answers(
        &sandbox,
        "lsp_diagnostics",
        json!({"file": "src/main.rs"}),
        &["src/main.rs:4:40: error: ", "u32"],
    );
    sandbox.write(
        "src/main.rs",
        &sandbox.read("src/main.rs").expect("a file").replace("\"three\"", "3"),
    );
    let mut rename = at("src/shapes.rs", 7, "area");
    rename["new_name"] = json!("fläche");
    answers(
        &sandbox,
        "lsp_rename",
        rename.clone(),
        &["Nothing is changed yet", "+ let _ = (\"😀\", größe.fläche());"],
    );
    assert!(sandbox.read("src/shapes.rs").expect("a file").contains("fn area"));
    rename["apply"] = json!(true);
    answers(&sandbox, "lsp_rename", rename, &["Changed 2 places in 2 files"]);
    assert!(sandbox.read("src/main.rs").expect("a file").contains("größe.fläche()"));

    answers(
        &sandbox,
        "lsp_definition",
        at("tools/app.py", 3, "add"),
        &["tools/lib.py:1:5: def add"],
    );
    answers(&sandbox, "lsp_hover", at("tools/app.py", 3, "add"), &["Adds."]);
    answers(
        &sandbox,
        "lsp_references",
        at("tools/lib.py", 1, "add"),
        &["tools/app.py:1:17:", "tools/app.py:3:9:"],
    );
    answers(
        &sandbox,
        "lsp_symbols",
        json!({"file": "tools/app.py"}),
        &["3: variable größe"],
    );
    sandbox.write("tools/app.py", "from lib import add\n\ngröße = add(1, \"x\")\n");
    answers(
        &sandbox,
        "lsp_diagnostics",
        json!({"file": "tools/app.py"}),
        &["tools/app.py:3:16: error: ", "reportArgumentType"],
    );
    let mut rename = at("tools/app.py", 3, "größe");
    (rename["new_name"], rename["apply"]) = (json!("summe"), json!(true));
    answers(&sandbox, "lsp_rename", rename, &["+ summe = add"]);

    let before = servers(&sandbox);
    assert!(before.len() >= 2, "{before:?}");
    sandbox.release("go-1");
    running.wait_for_record(SOON, crate::loop_behaviour::said("ready 2"));
    let warm = Instant::now();
    answers(
        &sandbox,
        "lsp_definition",
        at("src/main.rs", 5, "größe.fläche"),
        &["src/shapes.rs:7:12:"],
    );
    let warm = warm.elapsed();
    assert!(
        warm < cold,
        "the second iteration's first answer took {warm:?}, the first one's {cold:?}"
    );
    let now = servers(&sandbox);
    assert!(before.iter().all(|pid| now.contains(pid)), "{before:?} {now:?}");
    let starts = |event: &Event| {
        event
            .notice()
            .is_some_and(|notice| notice.code == "language-server-started")
    };
    assert_eq!(events(&sandbox.journal()).filter(|event| starts(event)).count(), 2);
    running.kill();
    wait_until(SOON, "end of the servers", || {
        servers(&sandbox).is_empty().then_some(())
    });
    sandbox.waits_until_nothing_runs();
}

#[test]
fn the_compiler_of_typescript_7_says_what_is_wrong_when_it_is_asked() {
    let Some(compiler) = languages::program("tsc") else {
        return;
    };
    let mut sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.write(
        "tsconfig.json",
        r#"{ "compilerOptions": { "strict": true }, "include": ["src"] }"#,
    );
    let area = |kind: &str| format!("export function area(side: number): {kind} {{\n  return side as any;\n}}\n");
    sandbox.write("src/area.ts", &area("number"));
    sandbox.write(
        "src/main.ts",
        "import { area } from \"./area\";\nexport const größe = \"😀\", x: string = area(3);\n",
    );
    sandbox.install(&Script::jsonl("said ready; await go; work; over ok"));
    sandbox.add_agent(&compiler);
    let running = sandbox.looping(["--max-iterations", "1"]).start();
    running.wait_for_record(SOON, crate::loop_behaviour::said("ready"));
    let of_main = || json!({"file": "src/main.ts"});
    let wrong = [
        "src/main.ts:2:27: ",
        "Type 'number' is not assignable to type 'string'.",
    ];
    answers(&sandbox, "lsp_diagnostics", of_main(), &wrong);
    answers(&sandbox, "lsp_diagnostics", json!({}), &wrong);
    sandbox.write("src/area.ts", &area("string"));
    answers(&sandbox, "lsp_diagnostics", of_main(), &["No errors and no warnings."]);
    let at = json!({"file": "src/main.ts", "line": 2, "symbol": "area"});
    answers(
        &sandbox,
        "lsp_definition",
        at,
        &["src/area.ts:1:17: export function area"],
    );
    sandbox.release("go");
    running.wait(SOON);
    sandbox.assert_nothing_runs();
}

#[test]
fn code_is_found_and_changed_by_its_syntax_and_what_is_not_installed_is_not_offered() {
    let Some(program) = languages::program("ast-grep") else {
        return;
    };
    let mut sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.write(
        "src/a.ts",
        "console.log(föö(1, 2));\nföö(föö(3, 4), 5);\n// föö(6, 7)\n",
    );
    sandbox.write("src/b.ts", "\u{feff}föö(\n  1,\n  2,\n);\n");
    sandbox.install(&Script::jsonl("said ready; await go; work; over ok"));
    sandbox.add_agent(&program);
    let running = sandbox.looping(["--max-iterations", "1"]).start();
    running.wait_for_record(SOON, crate::loop_behaviour::said("ready"));
    let found = [
        "src/a.ts:1:13: console.log(föö(1, 2));",
        "src/a.ts:2:1:",
        "src/a.ts:2:5:",
        "src/b.ts:1:1: föö(",
    ];
    answers(&sandbox, "ast_search", json!({"pattern": "föö($A, $B)"}), &found);
    let nothing = json!({"pattern": "--nothing", "language": "ts", "path": "src/b.ts"});
    answers(&sandbox, "ast_search", nothing, &["No match."]);
    let before = sandbox.read("src/a.ts");
    let replace = json!({"pattern": "föö($A, $B)", "rewrite": "bar($B, $A)"});
    answers(
        &sandbox,
        "ast_replace",
        replace.clone(),
        &["Nothing is changed yet", "+ console.log(bar(2, 1));"],
    );
    assert_eq!(sandbox.read("src/a.ts"), before);
    let mut apply = replace;
    apply["apply"] = json!(true);
    answers(&sandbox, "ast_replace", apply, &["Changed 3 places in 2 files"]);
    let after = sandbox.read("src/a.ts").expect("a file");
    assert_eq!(after, "console.log(bar(2, 1));\nbar(5, föö(3, 4));\n// föö(6, 7)\n");
    assert_eq!(sandbox.read("src/b.ts").as_deref(), Some("\u{feff}bar(2, 1);\n"));
    for (arguments, why) in [
        (json!({"pattern": " "}), "`pattern` is empty"),
        (json!({"pattern": "x", "language": "klingon"}), "klingon"),
        (json!({"pattern": "a; b; c", "language": "ts"}), "Multiple AST nodes"),
        (json!({"pattern": "}{", "language": "ts"}), "ERROR node"),
        (json!({"pattern": "x", "path": "../.."}), "not in the project"),
        (json!({"pattern": "x", "path": "nowhere"}), "cannot be read"),
    ] {
        let (text, refused) = call(&sandbox, "ast_search", &arguments);
        assert!(refused && text.contains(why), "{arguments}: {text}");
    }
    sandbox.release("go");
    running.wait(SOON);
    sandbox.assert_nothing_runs();
}
