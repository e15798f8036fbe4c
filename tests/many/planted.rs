//! Programs that agents name in git's settings, which merges run.

use super::{batch, sandbox_in};
use crate::harness::{SOON, Sandbox};

/// Names a filter and a merge driver that leave traces: one outside of the sandbox, and one where the sandbox writes.
const PLANTING: &str = r#"
common=$(git rev-parse --path-format=absolute --git-common-dir)
printf '#!/bin/sh\necho "$1" >> "%s/traces"\necho "$1" >> "%s/planted"\ncat\n' "$common" "$HOME" > "$common/trace"
chmod +x "$common/trace"
git config filter.e.clean "$common/trace clean"
git config filter.e.smudge "$common/trace smudge"
git config merge.e.driver "$common/trace driver < %A > %A.new && mv %A.new %A"
echo '* filter=e merge=e' > .gitattributes
echo more >> shared.txt
git add --all && git commit --quiet --message planted
tick; over done"#;

#[test]
fn programs_that_an_agent_names_in_gits_settings_have_the_rights_of_the_agent() {
    for mode in ["on", "off"] {
        let sandbox = sandbox_in(Sandbox::outside_of_tmp(), PLANTING, &["api"]);
        let finished = batch(&sandbox, &["--sandbox", mode, "api.md"]).run(SOON);
        assert_eq!(finished.code(), Some(0), "{finished:?}");
        let traces = sandbox.read(".git/traces").unwrap_or_default();
        assert!(traces.contains("smudge"), "the merge ran the filter: {traces}");
        let planted = sandbox.read_home("planted");
        assert_eq!(planted.is_some(), mode == "off", "{mode}: {planted:?}");
    }
}
