//! The sections of one plan, side by side.

use super::{WORKER, assert_tidy, assert_verified, batch, refused, sandbox, show};
use crate::harness::SOON;

/// Finishes the first open task of its section, which the prompt names.
const SECTION_WORKER: &str = r##"
title=$(printf '%s\n' "$prompt" | sed -n 's/.*(its section "\([^"]*\)" only).*/\1/p' | head -n 1)
echo "$title" >> "$(echo "$title" | tr ' ' '-').txt"
sed -i "/^## $title/,/^## /{0,/- \[ \]/s//- [x]/}" "$RALPH_PLAN"
over done"##;

#[test]
fn the_sections_of_a_plan_are_worked_on_side_by_side_and_ticked_in_the_one_plan() {
    let sandbox = sandbox(SECTION_WORKER, &[]);
    let plan = "# Shop\n\nWords for all.\n\n## API\n\n- [ ] One\n- [ ] Two\n\n## The UI\n\nafter: API\n\n- [ ] Three\n\n\
                ## Docs\n\n- [ ] Four\n- [x] Five\n";
    sandbox.write("PLAN.md", plan);
    refused(
        &sandbox,
        "--each-section PLAN.md",
        1,
        "PLAN.md is not committed as it is",
    );
    sandbox.git(["commit", "--quiet", "--all", "--message", "Divided"]);
    let finished = batch(&sandbox, &["--each-section", "PLAN.md", "--jobs", "3"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let merged_api = finished.stdout.find("api: merged").expect("api");
    let began_ui = finished.stdout.find("the-ui: running on").expect("the UI");
    assert!(merged_api < began_ui, "{finished:?}");
    assert_eq!(show(&sandbox, "PLAN.md"), plan.replace("[ ]", "[x]"));
    assert_eq!(
        (show(&sandbox, "API.txt"), show(&sandbox, "The-UI.txt")),
        ("API\nAPI\n".to_owned(), "The UI\n".to_owned())
    );
    assert_verified(&sandbox, "test -s shared.txt", &["api", "the-ui", "docs"]);
    assert_tidy(&sandbox);
}

#[test]
fn a_plan_that_cannot_be_divided_says_why() {
    let sandbox = sandbox(WORKER, &["api"]);
    let says = |text: &str, said: &str| {
        sandbox.write("PLAN.md", text);
        refused(&sandbox, "--each-section PLAN.md", 3, said);
    };
    says("- [ ] One\n", "it has no sections");
    says("# Title\n\n## Only\n- [ ] One\n", "only its section `Title` has tasks");
    says(
        "- [ ] Early\n# A\n- [ ] a\n# B\n- [ ] b\n",
        "line 1: the task is outside of all sections",
    );
    says("# A\n- [ ] a\n# a\n- [ ] b\n", "two sections are named `a`");
    says(
        "# A\nafter: C\n- [ ] a\n# B\n- [ ] b\n",
        "`A` waits for `C`, which is not a section of the plan",
    );
    says("# A\nafter: [B\n- [ ] a\n# B\n- [ ] b\n", "line 2: `after` takes names");
    says(
        "# A\nSee [b](#b).\n- [ ] a\n# B\nafter: A\n- [ ] b\n",
        "plans wait for each other: a → b → a",
    );
    says("# A\n- [x] a\n# B\n- [x] b\n", "every task is done");
    sandbox.write("prd.json", r#"[{"title":"a"}]"#);
    refused(&sandbox, "--each-section prd.json", 3, "a prd.json has no sections");
    refused(&sandbox, "--each-section PLAN.md api.md", 2, "cannot be used with");
    let alone = sandbox.looping(["--section", "Nothing"]).run(SOON);
    assert_eq!(alone.code(), Some(3), "{alone:?}");
    assert!(
        alone.stderr.contains("it has no section `Nothing` with tasks"),
        "{alone:?}"
    );
}
