//! A policy of rules and a mode, and its decisions.

use ralph_core::event::{Decision, PermissionMode, ToolKind, ToolKinds};
use url::Url;

use super::{
    paths::{self, PathResolver},
    pattern::{CommandPattern, PathPattern, PatternMatch},
    rule::{GrantedRule, Rule, RuleList, RuleSpec},
    shell::{PartEffect, ScriptPart, Unclear, is_runner, parts},
    tools::ToolClass,
    verdict::{PartVerdict, PermissionVerdict, PolicyRequest, VerdictReason},
};

/// The rules for an agent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RulePolicy {
    pub mode: PermissionMode,
    pub deny: Vec<Rule>,
    pub ask: Vec<Rule>,
    pub allow: Vec<Rule>,
    /// Rules that answers of the user have added to `allow`.
    pub granted: Vec<GrantedRule>,
}

impl RulePolicy {
    pub fn list(&self, list: RuleList) -> &[Rule] {
        match list {
            RuleList::Deny => &self.deny,
            RuleList::Ask => &self.ask,
            RuleList::Allow => &self.allow,
        }
    }

    /// The kinds of tools that are not always allowed, so that an agent has to ask before it uses them.
    pub fn concerns(&self) -> ToolKinds {
        if self.mode != PermissionMode::Auto {
            return ToolKinds::ALL;
        }
        let rules = self.deny.iter().chain(&self.ask);
        rules.fold(ToolKinds::NONE, |kinds, rule| kinds.plus(rule.kinds()))
    }

    /// Whether everything is allowed, so that no agent has to ask.
    pub fn allows_all(&self) -> bool {
        self.mode == PermissionMode::Auto && self.deny.is_empty() && self.ask.is_empty()
    }

    /// The rules of `ask` and `allow` that can never decide, each with the stronger rule that covers it.
    pub fn hidden(&self) -> Vec<(&Rule, RuleList, &Rule)> {
        let mut hidden = Vec::new();
        for (at, weaker) in [RuleList::Ask, RuleList::Allow].into_iter().enumerate() {
            for rule in self.list(weaker) {
                let stronger = RuleList::ALL[..=at].iter();
                let mut over = stronger.flat_map(|list| self.list(*list).iter().map(move |rule| (*list, rule)));
                if let Some((list, other)) = over.find(|(_, other)| other.covers(rule)) {
                    hidden.push((rule, list, other));
                }
            }
        }
        hidden
    }

    /// The rules of `ask` that ask about a request, or might, including those hidden by other rules.
    pub fn asked_by(&self, request: &PolicyRequest, world: &dyn PathResolver) -> Vec<String> {
        let asks = |rule: &&Rule| {
            let alone = RulePolicy {
                ask: vec![(*rule).clone()],
                ..RulePolicy::default()
            };
            let parts = alone.decide(request, world).parts;
            parts.iter().any(|part| part.because.list() == Some(RuleList::Ask))
        };
        let mut texts: Vec<String> = self.ask.iter().filter(asks).map(|rule| rule.text.clone()).collect();
        texts.dedup();
        texts
    }

    /// Decides on a request of an agent.
    pub fn decide(&self, request: &PolicyRequest, world: &dyn PathResolver) -> PermissionVerdict {
        let evaluation = Evaluation {
            policy: self,
            request,
            world,
        };
        if let Some(verdict) = evaluation.decide_on_tool() {
            return verdict;
        }
        match (&request.kind, &request.command) {
            (ToolClass::Shell, Some(command)) => evaluation.decide_on_command(command),
            (ToolClass::Edit | ToolClass::Read, _) if !request.paths.is_empty() => {
                let paths = request.paths.iter();
                PermissionVerdict::from_parts(
                    paths
                        .map(|path| evaluation.decide_on_path(path, path, &request.kind))
                        .collect(),
                )
            }
            (ToolClass::Fetch, _) => {
                PermissionVerdict::from_parts(vec![evaluation.decide_on_url(request.url.as_deref())])
            }
            _ => PermissionVerdict::from_parts(vec![evaluation.decide_on_unknown()]),
        }
    }
}

/// One request under one policy.
struct Evaluation<'a> {
    policy: &'a RulePolicy,
    request: &'a PolicyRequest,
    world: &'a dyn PathResolver,
}

impl Evaluation<'_> {
    /// The decision of the rules for a tool of this kind, where `matches` compares their specifications.
    fn decided(
        &self,
        kind: &ToolClass,
        matches: impl Fn(&RuleSpec, RuleList) -> PatternMatch,
    ) -> Option<(Decision, VerdictReason)> {
        let is_for = |rule: &&Rule| rule.is_for(&self.request.tool, kind);
        let granted = self.policy.granted.iter().filter(|granted| is_for(&&granted.rule));
        let granted: Vec<&GrantedRule> = granted
            .filter(|granted| matches(&granted.rule.spec, RuleList::Allow) == PatternMatch::Yes)
            .collect();
        let is_settled = |rule: &&Rule| granted.iter().any(|granted| granted.over.contains(&rule.text));
        let denied = self.decided_by(RuleList::Deny, self.policy.deny.iter().filter(is_for), &matches);
        let asked = || {
            let rules = self.policy.ask.iter().filter(is_for);
            self.decided_by(RuleList::Ask, rules.filter(|rule| !is_settled(rule)), &matches)
        };
        let answered = || {
            granted
                .first()
                .map(|granted| (Decision::Allow, VerdictReason::granted(granted)))
        };
        let allowed = || self.decided_by(RuleList::Allow, self.policy.allow.iter().filter(is_for), &matches);
        denied.or_else(asked).or_else(answered).or_else(allowed)
    }

    /// The decision of one list's rules.
    fn decided_by<'r>(
        &self,
        list: RuleList,
        rules: impl Iterator<Item = &'r Rule>,
        matches: &impl Fn(&RuleSpec, RuleList) -> PatternMatch,
    ) -> Option<(Decision, VerdictReason)> {
        let decision = match list {
            RuleList::Deny => Decision::Deny,
            RuleList::Ask => Decision::Ask,
            RuleList::Allow => Decision::Allow,
        };
        let mut maybe = None;
        for rule in rules {
            match matches(&rule.spec, list) {
                PatternMatch::Yes => return Some((decision, VerdictReason::rule(rule, list))),
                PatternMatch::Maybe if list != RuleList::Allow => maybe = maybe.or(Some(rule)),
                PatternMatch::Maybe | PatternMatch::No => {}
            }
        }
        maybe.map(|rule| (self.default_in_doubt(), VerdictReason::possible_rule(rule, list)))
    }

    /// The decision on a request that cannot be analysed.
    fn default_in_doubt(&self) -> Decision {
        match self.policy.mode {
            PermissionMode::Auto | PermissionMode::Ask => Decision::Ask,
            PermissionMode::Restricted | PermissionMode::Readonly => Decision::Deny,
        }
    }

    fn by_mode(&self, kind: &ToolClass) -> (Decision, VerdictReason) {
        let mode = self.policy.mode;
        let decision = match (mode, kind) {
            (PermissionMode::Auto, _) | (PermissionMode::Readonly, ToolClass::Read) => Decision::Allow,
            (PermissionMode::Ask, _) => Decision::Ask,
            (PermissionMode::Restricted | PermissionMode::Readonly, _) => Decision::Deny,
        };
        (decision, VerdictReason::Mode { mode })
    }

    fn part(&self, part: &str, decided: (Decision, VerdictReason)) -> PartVerdict {
        PartVerdict {
            part: part.to_owned(),
            decision: decided.0,
            because: decided.1,
        }
    }

    /// The verdict of a rule that denies every use of the tool.
    fn decide_on_tool(&self) -> Option<PermissionVerdict> {
        let all = |spec: &RuleSpec, list: RuleList| match spec {
            RuleSpec::All if list == RuleList::Deny => PatternMatch::Yes,
            _ => PatternMatch::No,
        };
        let decided = self.decided(&self.request.kind, all)?;
        let what = self.request.command.as_deref().unwrap_or(&self.request.tool);
        Some(PermissionVerdict::from_parts(vec![self.part(what, decided)]))
    }

    fn decide_on_command(&self, command: &str) -> PermissionVerdict {
        let found = parts(command);
        let decided = found.iter().filter(|part| !self.is_free(part)).filter_map(|part| {
            let verdict = self.decide_on_part(part);
            let is_doubt = matches!(verdict.because, VerdictReason::Unclear { .. }) && !self.hides_nothing();
            let forbids = is_doubt || matches!(verdict.because.list(), Some(RuleList::Deny | RuleList::Ask));
            (!part.only_forbids || forbids).then_some(verdict)
        });
        PermissionVerdict::from_parts(decided.collect())
    }

    /// Whether a part is only an argument to which no rule can object.
    fn is_free(&self, part: &ScriptPart) -> bool {
        let kind = match &part.effect {
            PartEffect::Read(_) => ToolClass::Read,
            PartEffect::Write(_) => ToolClass::Edit,
            PartEffect::Run { .. }
            | PartEffect::RunScript { .. }
            | PartEffect::Mention(_)
            | PartEffect::Unclear { .. } => return false,
        };
        let mut rules = self.policy.deny.iter().chain(&self.policy.ask);
        part.only_forbids && !rules.any(|rule| rule.is_for(&self.request.tool, &kind))
    }

    fn decide_on_part(&self, part: &ScriptPart) -> PartVerdict {
        match &part.effect {
            PartEffect::Run {
                names,
                own,
                arguments,
                reads,
            } => {
                let reads = reads.as_deref();
                self.part(&part.shown, self.decide_on_program(names, own, arguments, reads))
            }
            PartEffect::RunScript { names } => {
                let decided = self.decided(&ToolClass::Shell, |spec, list| match list {
                    RuleList::Deny | RuleList::Ask => forbidden(spec, names),
                    RuleList::Allow => PatternMatch::No,
                });
                self.part(
                    &part.shown,
                    decided.unwrap_or((Decision::Allow, VerdictReason::Harmless)),
                )
            }
            PartEffect::Write(paths) => self.decide_on_file(part, paths, &ToolClass::Edit),
            PartEffect::Read(paths) => self.decide_on_file(part, paths, &ToolClass::Read),
            PartEffect::Mention(paths) => {
                let by_kind = |kind: &ToolClass| paths.iter().find_map(|path| self.decide_on_mention(path, kind));
                let decided = by_kind(&ToolClass::Read).or_else(|| by_kind(&ToolClass::Edit));
                self.part(
                    &part.shown,
                    decided.unwrap_or((Decision::Allow, VerdictReason::Harmless)),
                )
            }
            PartEffect::Unclear { why, names, own } => {
                let because = VerdictReason::Unclear { why: why.clone() };
                let decided = self.decided(&ToolClass::Shell, |spec, list| match (list, spec) {
                    (RuleList::Allow, RuleSpec::Command(pattern)) if self.knows(pattern, why) => allowed(spec, own),
                    (RuleList::Allow, RuleSpec::All) if self.hides_nothing() => PatternMatch::Yes,
                    (RuleList::Allow, _) => PatternMatch::No,
                    (RuleList::Deny | RuleList::Ask, _) => forbidden(spec, names),
                });
                self.part(&part.shown, decided.unwrap_or_else(|| self.decide_on_unclear(because)))
            }
        }
    }

    /// Decides on a file that a command uses; the strictest verdict on its possible paths.
    fn decide_on_file(&self, part: &ScriptPart, paths: &[String], kind: &ToolClass) -> PartVerdict {
        let verdicts = paths.iter().map(|path| self.decide_on_path(&part.shown, path, kind));
        let verdict = PermissionVerdict::from_parts(verdicts.collect());
        let is_open = matches!(verdict.because, VerdictReason::Mode { .. });
        let all = |spec: &RuleSpec, list: RuleList| match spec {
            RuleSpec::All if list == RuleList::Allow => PatternMatch::Yes,
            _ => PatternMatch::No,
        };
        // A rule that allows all commands allows their files.
        let by_shell = self.decided(&ToolClass::Shell, all).filter(|_| is_open);
        self.part(&part.shown, by_shell.unwrap_or((verdict.decision, verdict.because)))
    }

    /// Whether no rule denies or asks about anything that a command could do.
    fn hides_nothing(&self) -> bool {
        let mut rules = self.policy.deny.iter().chain(&self.policy.ask);
        !rules.any(|rule| rule.kinds().has(ToolKind::Shell))
    }

    /// Whether an allow rule may apply to a command of which it is unclear what it runs.
    ///
    /// `git *` may not: the command run by `git -c alias.x=…` may be denied by another rule. `ssh *` may if no rule
    /// denies or asks, since ssh only serves to run other commands.
    fn knows(&self, pattern: &CommandPattern, why: &Unclear) -> bool {
        let runs_others = matches!(why, Unclear::Runs { program } if is_runner(program));
        pattern.is_exact() || pattern.names_a_program() && runs_others && self.hides_nothing()
    }

    fn decide_on_program(
        &self,
        names: &[Vec<String>],
        own: &[String],
        arguments: &[String],
        reads: Option<&[String]>,
    ) -> (Decision, VerdictReason) {
        let decided = self.decided(&ToolClass::Shell, |spec, list| match (list, spec) {
            (RuleList::Allow, _) => allowed(spec, own),
            (RuleList::Deny | RuleList::Ask, RuleSpec::Command(pattern)) => match forbidden(spec, names) {
                PatternMatch::No if pattern.may_be_in(arguments) => PatternMatch::Maybe,
                found => found,
            },
            (RuleList::Deny | RuleList::Ask, _) => forbidden(spec, names),
        });
        let is_inside = |path: &String| paths::is_in_project(path, self.world);
        let is_harmless = reads.is_some_and(|reads| reads.iter().all(is_inside));
        decided.unwrap_or_else(|| self.by_default(&ToolClass::Shell, is_harmless))
    }

    /// The decision where no rule decides.
    fn by_default(&self, kind: &ToolClass, is_harmless: bool) -> (Decision, VerdictReason) {
        match self.by_mode(kind) {
            (Decision::Ask | Decision::Deny, _) if is_harmless => (Decision::Allow, VerdictReason::Harmless),
            by_mode => by_mode,
        }
    }

    /// Decides on an unclear command. It is harmless if the policy allows every command.
    fn decide_on_unclear(&self, because: VerdictReason) -> (Decision, VerdictReason) {
        match self.policy.mode == PermissionMode::Auto && self.hides_nothing() {
            true => self.by_mode(&ToolClass::Shell),
            false => (self.default_in_doubt(), because),
        }
    }

    fn decide_on_path(&self, shown: &str, path: &str, kind: &ToolClass) -> PartVerdict {
        let forms = paths::forms(path, self.world);
        let decided = self.decided(kind, |spec, list| match spec {
            RuleSpec::All => PatternMatch::Yes,
            RuleSpec::Path(spec) => self.path_matches(spec, &forms, list),
            RuleSpec::Command(_) | RuleSpec::Domain(_) => PatternMatch::No,
        });
        let is_harmless = *kind == ToolClass::Read && paths::is_in_project(path, self.world);
        self.part(shown, decided.unwrap_or_else(|| self.by_default(kind, is_harmless)))
    }

    /// The decision on a path in the code of an interpreter, which may use the file; `None` if no rule objects.
    fn decide_on_mention(&self, path: &str, kind: &ToolClass) -> Option<(Decision, VerdictReason)> {
        let forms = paths::forms(path, self.world);
        self.decided(kind, |spec, list| match (spec, list) {
            (RuleSpec::Path(spec), RuleList::Deny | RuleList::Ask) => {
                self.path_matches(spec, &forms, list).min(PatternMatch::Maybe)
            }
            _ => PatternMatch::No,
        })
    }

    /// Whether the path of a rule matches any of a path's forms.
    fn path_matches(&self, spec: &str, forms: &[String], list: RuleList) -> PatternMatch {
        // In Claude Code, `./.env` denies a file of this name in every directory.
        let name = spec.strip_prefix("./").filter(|name| !name.contains('/'));
        let spec = name.filter(|_| list != RuleList::Allow).unwrap_or(spec);
        let pattern = PathPattern::new(&paths::pattern(spec, self.world));
        let mut matches = forms.iter().map(|form| pattern.matches(form));
        match list {
            RuleList::Deny | RuleList::Ask => matches.max().unwrap_or(PatternMatch::No),
            // The target of a link counts, not its name.
            RuleList::Allow => matches.next_back().unwrap_or(PatternMatch::No),
        }
    }

    fn decide_on_url(&self, url: Option<&str>) -> PartVerdict {
        let host = url.and_then(host);
        let decided = self.decided(&ToolClass::Fetch, |spec, _| match (spec, &host) {
            (RuleSpec::All, _) => PatternMatch::Yes,
            (RuleSpec::Domain(pattern), Some(host)) => pattern.matches(host),
            (RuleSpec::Domain(_), None) => PatternMatch::Maybe,
            (RuleSpec::Command(_) | RuleSpec::Path(_), _) => PatternMatch::No,
        });
        let shown = url.unwrap_or(&self.request.tool);
        self.part(shown, decided.unwrap_or_else(|| self.by_mode(&ToolClass::Fetch)))
    }

    /// Decides on a tool of which only the name is known.
    fn decide_on_unknown(&self) -> PartVerdict {
        let kind = &self.request.kind;
        let decided = self.decided(kind, |spec, _| match spec {
            RuleSpec::All => PatternMatch::Yes,
            RuleSpec::Command(_) | RuleSpec::Path(_) | RuleSpec::Domain(_) => PatternMatch::Maybe,
        });
        self.part(&self.request.tool, decided.unwrap_or_else(|| self.by_mode(kind)))
    }
}

/// Whether a rule that denies or asks matches any of a command's names.
fn forbidden(spec: &RuleSpec, names: &[Vec<String>]) -> PatternMatch {
    match spec {
        RuleSpec::All => PatternMatch::Yes,
        RuleSpec::Command(pattern) => {
            let best = names.iter().map(|words| pattern.forbids(words)).max();
            best.unwrap_or(PatternMatch::No)
        }
        RuleSpec::Path(_) | RuleSpec::Domain(_) => PatternMatch::No,
    }
}

/// Whether a rule that allows matches one of a command's texts for every value of its computed parts.
fn allowed(spec: &RuleSpec, own: &[String]) -> PatternMatch {
    let is_whole =
        |text: &String| matches!(spec, RuleSpec::Command(pattern) if pattern.matches(text) == PatternMatch::Yes);
    match *spec == RuleSpec::All || own.iter().any(is_whole) {
        true => PatternMatch::Yes,
        false => PatternMatch::No,
    }
}

/// The host of an address as browsers read it; `None` if it has none, or one that may be another in ASCII.
pub(super) fn host(url: &str) -> Option<String> {
    // The forms of ASCII characters in wide fonts, and the full stops of other scripts.
    let narrow = |character| match character {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(character) - 0xfee0).unwrap_or(character),
        '\u{3002}' | '\u{ff61}' => '.',
        other => other,
    };
    let url: String = url.trim().chars().map(narrow).collect();
    let parsed = match Url::parse(&url) {
        Ok(parsed) if parsed.has_host() => parsed,
        // An address without its scheme.
        Ok(_) | Err(url::ParseError::RelativeUrlWithoutBase) => Url::parse(&format!("https://{url}")).ok()?,
        Err(_) => return None,
    };
    let host = parsed
        .host_str()?
        .trim_matches(['[', ']'])
        .trim_end_matches('.')
        .to_ascii_lowercase();
    // A host that is no ASCII has many spellings.
    let is_as_written = !host.contains("xn--") || url.to_ascii_lowercase().contains(&host);
    (!host.is_empty() && is_as_written).then_some(host)
}
