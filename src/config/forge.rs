//! Settings of what agents may propose to post on the forge.

use ralph_core::event::{CommentTargets, PostRule, PostRules};
use ralph_policy::{
    settings,
    settings::{NameList, OneOf, Sample, SingleLine, WholeNumber},
};

settings! {
    /// Issues and comments that agents may propose for the forge of the remote `origin`. ralph posts them with your `gh`, outside of
    /// the sandbox; agents get no keys. Allowed only in your own file, not in one of a project.
    pub struct ForgeSettings {
        /// "off": agents cannot propose issues. "ask": each is put to you, and posted once you answer yes. "allow": ralph posts
        /// them in the repositories that `forge.repositories` names, and asks you in all others.
        issues("issues"): OneOf<PostRule> = "off",
        /// Comments on issues and pull requests: "off", "ask" or "allow", as with issues.
        comments("comments"): OneOf<PostRule> = "off",
        /// Issues and pull requests that agents may propose comments for. "plan": the issue that the plan was made from. "any": each issue and pull request of the
        /// repository.
        comments_on("commentsOn"): OneOf<CommentTargets> = "plan",
        /// The repositories in which "allow" posts without asking: ["github.com/team/shop"]. An agent can change the remote
        /// of a project, so the project alone does not say where to post.
        repositories("repositories"): NameList<Repositories> = [],
        /// Maximum number of proposals in a run.
        max("max"): WholeNumber<1, 20> = 3,
        /// Put before the title of every proposed issue, such as "[agent]".
        title_prefix("titlePrefix"): Option<SingleLine> = null,
        /// The labels that agents may give to issues. `ralph take --watch --label` takes issues with a label: do not list that
        /// one, or agents give work to each other.
        labels("labels"): NameList<Labels> = [],
    }
}

/// Repositories with their hosts.
pub struct Repositories;

impl Sample for Repositories {
    const SAMPLE: &'static str = r#"["github.com/team/shop"]"#;
}

/// Labels of a forge.
pub struct Labels;

impl Sample for Labels {
    const SAMPLE: &'static str = r#"["agent", "bug"]"#;
}

impl ForgeSettings {
    /// Whether agents can propose nothing.
    pub fn is_off(&self) -> bool {
        (self.issues, self.comments) == (PostRule::Off, PostRule::Off)
    }

    /// Returns the rules for a run whose posts go to `repository`, an address with https, and whose plan is of `issue`.
    pub fn rules(&self, repository: Option<String>, issue: Option<u64>) -> PostRules {
        let place = repository
            .as_deref()
            .and_then(|address| address.strip_prefix("https://"));
        let is_named =
            place.is_some_and(|place| self.repositories.iter().any(|named| named.eq_ignore_ascii_case(place)));
        let rule = |rule: PostRule| match rule {
            PostRule::Allow if !is_named => PostRule::Ask,
            PostRule::Off | PostRule::Ask | PostRule::Allow => rule,
        };
        PostRules {
            issues: rule(self.issues),
            comments: rule(self.comments),
            max: self.max,
            title_prefix: self.title_prefix.clone().unwrap_or_default(),
            labels: self.labels.clone(),
            comments_on: self.comments_on,
            repository,
            issue,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn only_repositories_that_are_named_get_posts_without_a_question() {
        let mut forge = Config::default().forge;
        assert!(forge.is_off() && forge.rules(None, None).is_off());
        forge.issues = PostRule::Allow;
        let rule = |forge: &ForgeSettings, address: Option<&str>| forge.rules(address.map(str::to_owned), None).issues;
        assert_eq!(rule(&forge, Some("https://github.com/team/shop")), PostRule::Ask);
        forge.repositories = vec!["github.com/Team/shop".to_owned()];
        assert_eq!(rule(&forge, Some("https://github.com/team/shop")), PostRule::Allow);
        assert_eq!(rule(&forge, Some("https://github.com/other/shop")), PostRule::Ask);
        assert_eq!(
            rule(&forge, Some("https://example.org/github.com/team/shop")),
            PostRule::Ask
        );
        assert_eq!(rule(&forge, None), PostRule::Ask);
    }
}
