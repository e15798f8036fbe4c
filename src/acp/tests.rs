use super::*;

fn prompt(contents: &Value) -> PromptText {
    PromptText::read(&json!({"prompt": contents}), Path::new("/p"))
}

#[test]
fn a_prompt_is_a_task_a_plan_or_a_command() {
    let line = |command, prompt: Option<&str>| CommandLine {
        command,
        prompt: prompt.map(str::to_owned),
    };
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let link = |uri: &str| json!({"type": "resource_link", "uri": uri, "name": "x"});
    for (contents, expected) in [
        (text(" Write the parser \n"), line(None, Some("Write the parser"))),
        (text("/continue"), line(Some("continue"), None)),
        (text("/plan docs/PLAN.md"), line(None, Some("docs/PLAN.md"))),
        (text("/plan"), line(None, None)),
        (text("/tmp is full: free it"), line(None, Some("/tmp is full: free it"))),
        (json!([link("file:///p/PLAN.md")]), line(None, Some("PLAN.md"))),
        (
            json!([link("file:///q/PLAN.md")]),
            line(None, Some("file:///q/PLAN.md")),
        ),
        (
            json!([{"type": "text", "text": "Mend"}, link("file:///p/a.rs"), {"type": "image"}]),
            line(None, Some("Mend\n\nfile:///p/a.rs")),
        ),
    ] {
        assert_eq!(prompt(&contents).command_line(), expected, "{contents}");
    }
    assert_eq!(prompt(&text("  ")).text, "");
}
