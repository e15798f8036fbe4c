//! Facts about models: the size of their window, their longest answer and how they reason.
//! Settings override them; an unknown model gets values that are safe for most.

use serde::Deserialize;

/// The window of an unknown model.
const USUAL_WINDOW: u64 = 32_000;

/// The facts of a model.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct ModelFacts {
    /// A part of the names of its models, with dashes for dots.
    name: String,
    /// Most tokens of a conversation.
    pub(super) window: u64,
    /// Most tokens of an answer; `None` if unknown.
    pub(super) answer: Option<u32>,
    #[serde(default)]
    pub(super) reasoning: ReasoningControl,
}

/// How the API is told how much a model should reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ReasoningControl {
    /// It does not reason, or it is unknown whether it does.
    #[default]
    Unknown,
    /// By a level of effort (OpenAI and compatible servers).
    Effort,
    /// By a level of effort besides adaptive thinking (Anthropic).
    Adaptive,
    /// By a number of tokens (older models of Anthropic).
    Tokens,
}

/// How much a model should reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effort {
    Low,
    Medium,
    High,
}

impl Effort {
    const ALL: [Effort; 3] = [Effort::Low, Effort::Medium, Effort::High];

    /// The level in every API.
    pub(super) fn name(self) -> &'static str {
        match self {
            Effort::Low => "low",
            Effort::Medium => "medium",
            Effort::High => "high",
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Effort::ALL.into_iter().find(|effort| effort.name() == name)
    }

    /// The tokens of thoughts for models that are told a number.
    pub(super) fn tokens(self) -> u32 {
        match self {
            Effort::Low => 2048,
            Effort::Medium => 6144,
            Effort::High => 12_288,
        }
    }
}

impl ModelFacts {
    /// The facts with the longest name that is a part of `model`.
    pub(super) fn of(model: &str) -> Self {
        let model = model.to_lowercase().replace(['.', '_'], "-");
        let known = known().into_iter().filter(|known| has_name(&model, &known.name));
        known.max_by_key(|known| known.name.len()).unwrap_or(Self {
            name: String::new(),
            window: USUAL_WINDOW,
            answer: None,
            reasoning: ReasoningControl::Unknown,
        })
    }
}

fn known() -> Vec<ModelFacts> {
    serde_json::from_str(include_str!("models.json")).expect("a test reads this file")
}

/// Returns whether a word of `model` begins with `name`: `o3` is no part of `qwen-turbo3`.
fn has_name(model: &str, name: &str) -> bool {
    let is_start = |at: usize| !model[..at].ends_with(|before: char| before.is_ascii_alphanumeric());
    model.match_indices(name).any(|(at, _)| is_start(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_known_name_in_a_model_has_its_facts() {
        for (model, window, answer) in [
            ("claude-sonnet-4-5-20250929", 200_000, Some(64_000)),
            ("anthropic/claude-3.5-haiku", 200_000, Some(8192)),
            ("us.anthropic.claude-opus-4-6-v1:0", 200_000, Some(128_000)),
            ("openai/gpt-4.1-mini", 1_000_000, Some(32_768)),
            ("gpt-oss:20b", 128_000, None),
            ("qwen3:32b", 32_000, None),
            ("Qwen/Qwen3-Coder-30B-A3B-Instruct", 256_000, None),
            ("meta-llama/Llama-3.3-70B-Instruct", 128_000, None),
            ("qwen-turbo3", USUAL_WINDOW, None),
            ("", USUAL_WINDOW, None),
        ] {
            let facts = ModelFacts::of(model);
            assert_eq!((facts.window, facts.answer), (window, answer), "{model}");
        }
        assert_eq!(ModelFacts::of("claude-opus-4-5").reasoning, ReasoningControl::Tokens);
        assert_eq!(ModelFacts::of("claude-opus-9").reasoning, ReasoningControl::Adaptive);
        assert_eq!(ModelFacts::of("o3-mini").reasoning, ReasoningControl::Effort);
    }

    #[test]
    fn no_name_is_listed_twice_and_every_model_has_room_to_work() {
        let models = known();
        for (at, facts) in models.iter().enumerate() {
            let name = &facts.name;
            assert!(models[..at].iter().all(|other| other.name != *name), "{name}");
            assert!(facts.window >= 16_000, "{name}");
            assert_eq!(*name, name.to_lowercase().replace('.', "-"), "{name}");
        }
    }
}
