//! A policy of rules and a mode, and its decisions.

use ralph_core::event::{Decision, PermissionMode, ToolKinds};

use super::{
    paths::{self, Paths},
    pattern::{CommandPattern, Match, PathPattern},
    rule::{Granted, List, Rule, Spec},
    shell::{Unclear, What, is_runner, parts},
    tools::ToolKind,
    verdict::{Because, PartVerdict, Request, Verdict},
};

/// Commands without effects, which need no rule.
const HARMLESS: &[&str] = &[
    ":", "true", "false", "[", "test", "break", "continue", "exit", "return", "shift", "wait",
];

/// The rules for an agent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Policy {
    pub mode: PermissionMode,
    pub deny: Vec<Rule>,
    pub ask: Vec<Rule>,
    pub allow: Vec<Rule>,
    /// Rules that answers of the user have added to `allow`.
    pub granted: Vec<Granted>,
}

impl Policy {
    pub fn list(&self, list: List) -> &[Rule] {
        match list {
            List::Deny => &self.deny,
            List::Ask => &self.ask,
            List::Allow => &self.allow,
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
    pub fn hidden(&self) -> Vec<(&Rule, List, &Rule)> {
        let mut hidden = Vec::new();
        for (at, weaker) in [List::Ask, List::Allow].into_iter().enumerate() {
            for rule in self.list(weaker) {
                let stronger = List::ALL[..=at].iter();
                let mut over = stronger.flat_map(|list| self.list(*list).iter().map(move |rule| (*list, rule)));
                if let Some((list, other)) = over.find(|(_, other)| other.covers(rule)) {
                    hidden.push((rule, list, other));
                }
            }
        }
        hidden
    }

    /// The rules of `ask` that ask about a request, or might, including those hidden by other rules.
    pub fn asked_by(&self, request: &Request, world: &dyn Paths) -> Vec<String> {
        let asks = |rule: &&Rule| {
            let alone = Policy {
                ask: vec![(*rule).clone()],
                ..Policy::default()
            };
            let parts = alone.decide(request, world).parts;
            parts.iter().any(|part| part.because.list() == Some(List::Ask))
        };
        let mut texts: Vec<String> = self.ask.iter().filter(asks).map(|rule| rule.text.clone()).collect();
        texts.dedup();
        texts
    }

    /// Decides on a request of an agent.
    pub fn decide(&self, request: &Request, world: &dyn Paths) -> Verdict {
        let court = Court {
            policy: self,
            request,
            world,
        };
        if let Some(verdict) = court.on_the_tool() {
            return verdict;
        }
        match (&request.kind, &request.command) {
            (ToolKind::Shell, Some(command)) => court.on_command(command),
            (ToolKind::Edit | ToolKind::Read, _) if !request.paths.is_empty() => {
                let paths = request.paths.iter();
                Verdict::of(paths.map(|path| court.on_path(path, path, &request.kind)).collect())
            }
            (ToolKind::Fetch, _) => Verdict::of(vec![court.on_address(request.url.as_deref())]),
            _ => Verdict::of(vec![court.on_unknown()]),
        }
    }
}

/// One request under one policy.
struct Court<'a> {
    policy: &'a Policy,
    request: &'a Request,
    world: &'a dyn Paths,
}

impl Court<'_> {
    /// The decision of the rules for a tool of this kind, where `matches` compares their specifications.
    fn decided(&self, kind: &ToolKind, matches: impl Fn(&Spec, List) -> Match) -> Option<(Decision, Because)> {
        let is_for = |rule: &&Rule| rule.is_for(&self.request.tool, kind);
        let granted = self.policy.granted.iter().filter(|granted| is_for(&&granted.rule));
        let granted: Vec<&Granted> = granted
            .filter(|granted| matches(&granted.rule.spec, List::Allow) == Match::Yes)
            .collect();
        let is_settled = |rule: &&Rule| granted.iter().any(|granted| granted.over.contains(&rule.text));
        let denied = self.decided_by(List::Deny, self.policy.deny.iter().filter(is_for), &matches);
        let asked = || {
            let rules = self.policy.ask.iter().filter(is_for);
            self.decided_by(List::Ask, rules.filter(|rule| !is_settled(rule)), &matches)
        };
        let answered = || {
            granted
                .first()
                .map(|granted| (Decision::Allow, Because::granted(granted)))
        };
        let allowed = || self.decided_by(List::Allow, self.policy.allow.iter().filter(is_for), &matches);
        denied.or_else(asked).or_else(answered).or_else(allowed)
    }

    /// The decision of one list's rules.
    fn decided_by<'r>(
        &self,
        list: List,
        rules: impl Iterator<Item = &'r Rule>,
        matches: &impl Fn(&Spec, List) -> Match,
    ) -> Option<(Decision, Because)> {
        let decision = match list {
            List::Deny => Decision::Deny,
            List::Ask => Decision::Ask,
            List::Allow => Decision::Allow,
        };
        let mut maybe = None;
        for rule in rules {
            match matches(&rule.spec, list) {
                Match::Yes => return Some((decision, Because::rule(rule, list))),
                Match::Maybe if list != List::Allow => maybe = maybe.or(Some(rule)),
                Match::Maybe | Match::No => {}
            }
        }
        maybe.map(|rule| (self.where_in_doubt(), Because::possible_rule(rule, list)))
    }

    /// The decision on a request that cannot be analysed.
    fn where_in_doubt(&self) -> Decision {
        match self.policy.mode {
            PermissionMode::Auto | PermissionMode::Ask => Decision::Ask,
            PermissionMode::Restricted | PermissionMode::Readonly => Decision::Deny,
        }
    }

    fn by_mode(&self, kind: &ToolKind) -> (Decision, Because) {
        let mode = self.policy.mode;
        let decision = match (mode, kind) {
            (PermissionMode::Auto, _) | (PermissionMode::Readonly, ToolKind::Read) => Decision::Allow,
            (PermissionMode::Ask, _) => Decision::Ask,
            (PermissionMode::Restricted | PermissionMode::Readonly, _) => Decision::Deny,
        };
        (decision, Because::Mode { mode })
    }

    fn part(&self, part: &str, decided: (Decision, Because)) -> PartVerdict {
        PartVerdict {
            part: part.to_owned(),
            decision: decided.0,
            because: decided.1,
        }
    }

    /// The verdict of a rule that denies every use of the tool.
    fn on_the_tool(&self) -> Option<Verdict> {
        let all = |spec: &Spec, list: List| match spec {
            Spec::All if list == List::Deny => Match::Yes,
            _ => Match::No,
        };
        let decided = self.decided(&self.request.kind, all)?;
        let what = self.request.command.as_deref().unwrap_or(&self.request.tool);
        Some(Verdict::of(vec![self.part(what, decided)]))
    }

    fn on_command(&self, command: &str) -> Verdict {
        let found = parts(command);
        let verdicts = found.iter().map(|part| match &part.what {
            What::Run { names, own } => self.part(&part.shown, self.on_program(names, own)),
            What::Through { names } => {
                let decided = self.decided(&ToolKind::Shell, |spec, list| match list {
                    List::Deny | List::Ask => named(spec, names, list),
                    List::Allow => Match::No,
                });
                self.part(&part.shown, decided.unwrap_or((Decision::Allow, Because::Harmless)))
            }
            What::Write(path) => self.on_path(&part.shown, path, &ToolKind::Edit),
            What::Read(path) => self.on_path(&part.shown, path, &ToolKind::Read),
            What::Unclear { why, names, own } => {
                let because = Because::Unclear { why: why.clone() };
                let decided = self.decided(&ToolKind::Shell, |spec, list| match (list, spec) {
                    (List::Allow, Spec::Command(pattern)) if self.knows(pattern, why) => named(spec, own, list),
                    (List::Allow, _) => Match::No,
                    (List::Deny | List::Ask, _) => named(spec, names, list),
                });
                self.part(&part.shown, decided.unwrap_or_else(|| self.on_unclear(because)))
            }
        });
        Verdict::of(verdicts.collect())
    }

    /// Whether an allow rule may apply to a command of which it is unclear what it runs.
    ///
    /// `git *` may not: the command run by `git -c alias.x=…` may be denied by another rule. `ssh *` may if no rule
    /// denies or asks, since ssh only serves to run other commands.
    fn knows(&self, pattern: &CommandPattern, why: &Unclear) -> bool {
        let runs_others = matches!(why, Unclear::Runs { program } if is_runner(program));
        let forbids = self.policy.deny.iter().chain(&self.policy.ask).next().is_some();
        pattern.is_exact() || pattern.names_a_program() && runs_others && !forbids
    }

    fn on_program(&self, names: &[String], own: &[String]) -> (Decision, Because) {
        let decided = self.decided(&ToolKind::Shell, |spec, list| match list {
            List::Deny | List::Ask => named(spec, names, list),
            List::Allow => named(spec, own, list),
        });
        let is_harmless = |text: &String| HARMLESS.contains(&text.split(' ').next().unwrap_or_default());
        match decided {
            Some(decided) => decided,
            None if own.iter().any(is_harmless) => (Decision::Allow, Because::Harmless),
            None => self.by_mode(&ToolKind::Shell),
        }
    }

    /// Decides on an unclear command. It is harmless if the policy allows everything.
    fn on_unclear(&self, because: Because) -> (Decision, Because) {
        match self.policy.allows_all() {
            true => self.by_mode(&ToolKind::Shell),
            false => (self.where_in_doubt(), because),
        }
    }

    fn on_path(&self, shown: &str, path: &str, kind: &ToolKind) -> PartVerdict {
        let forms = paths::forms(path, self.world);
        let decided = self.decided(kind, |spec, list| match spec {
            Spec::All => Match::Yes,
            Spec::Path(spec) => {
                let pattern = PathPattern::new(&paths::pattern(spec, self.world));
                let mut matches = forms.iter().map(|form| pattern.matches(form));
                match list {
                    List::Deny | List::Ask => matches.max().unwrap_or(Match::No),
                    // The target of a link counts, not its name.
                    List::Allow => matches.next_back().unwrap_or(Match::No),
                }
            }
            Spec::Command(_) | Spec::Domain(_) => Match::No,
        });
        self.part(shown, decided.unwrap_or_else(|| self.by_mode(kind)))
    }

    fn on_address(&self, url: Option<&str>) -> PartVerdict {
        let host = url.and_then(host);
        let decided = self.decided(&ToolKind::Fetch, |spec, _| match (spec, &host) {
            (Spec::All, _) => Match::Yes,
            (Spec::Domain(pattern), Some(host)) => pattern.matches(host),
            (Spec::Domain(_), None) => Match::Maybe,
            (Spec::Command(_) | Spec::Path(_), _) => Match::No,
        });
        let shown = url.unwrap_or(&self.request.tool);
        self.part(shown, decided.unwrap_or_else(|| self.by_mode(&ToolKind::Fetch)))
    }

    /// Decides on a tool of which only the name is known.
    fn on_unknown(&self) -> PartVerdict {
        let kind = &self.request.kind;
        let decided = self.decided(kind, |spec, _| match spec {
            Spec::All => Match::Yes,
            Spec::Command(_) | Spec::Path(_) | Spec::Domain(_) => Match::Maybe,
        });
        self.part(&self.request.tool, decided.unwrap_or_else(|| self.by_mode(kind)))
    }
}

/// Whether a command rule matches any of a command's names.
fn named(spec: &Spec, names: &[String], list: List) -> Match {
    match spec {
        Spec::All => Match::Yes,
        Spec::Command(pattern) => {
            let best = names.iter().map(|name| pattern.matches(name)).max();
            match best {
                Some(Match::Maybe) if list == List::Allow => Match::No,
                best => best.unwrap_or(Match::No),
            }
        }
        Spec::Path(_) | Spec::Domain(_) => Match::No,
    }
}

/// The normalised host of an address; `None` if it has none.
pub(super) fn host(url: &str) -> Option<String> {
    let url = url.trim().replace('\\', "/");
    let rest = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = match host.strip_prefix('[') {
        Some(literal) => literal.split(']').next()?,
        None => host.split(':').next()?,
    };
    let host = host.trim_end_matches('.').to_lowercase();
    (!host.is_empty() && !host.contains(|c: char| c.is_whitespace() || c == '%')).then_some(host)
}
