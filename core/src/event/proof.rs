//! The strength of the evidence that a run is done.

use serde::{Deserialize, Deserializer, Serialize};

/// The evidence that a run is done, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Proof {
    /// Tests were changed, pass only in their changed form, and the user has not confirmed the change.
    Unconfirmed,
    /// Only the agent's word and the boxes that it ticked.
    #[default]
    Nothing,
    /// The exit codes of the goals.
    ExitCodes,
    /// Tests that were counted and that detect changes; the files that guard them are original or confirmed.
    Tests,
}

impl Proof {
    pub(super) fn is_default(&self) -> bool {
        *self == Proof::default()
    }
}

impl<'de> Deserialize<'de> for Proof {
    /// Reads a proof by its name. Older journals have a boolean instead: whether goals had passed.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "kebab-case")]
        enum ProofName {
            Unconfirmed,
            Nothing,
            ExitCodes,
            Tests,
        }
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Name(ProofName),
            Verified(bool),
        }
        Ok(match Written::deserialize(deserializer)? {
            Written::Name(ProofName::Unconfirmed) => Proof::Unconfirmed,
            Written::Name(ProofName::Nothing) | Written::Verified(false) => Proof::Nothing,
            Written::Name(ProofName::ExitCodes) | Written::Verified(true) => Proof::ExitCodes,
            Written::Name(ProofName::Tests) => Proof::Tests,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_is_read_by_its_name_and_from_journals_without_one() {
        for (text, proof) in [
            ("\"unconfirmed\"", Proof::Unconfirmed),
            ("\"nothing\"", Proof::Nothing),
            ("\"exit-codes\"", Proof::ExitCodes),
            ("\"tests\"", Proof::Tests),
            ("true", Proof::ExitCodes),
            ("false", Proof::Nothing),
        ] {
            assert_eq!(serde_json::from_str::<Proof>(text).unwrap(), proof, "{text}");
        }
        assert!(serde_json::from_str::<Proof>("\"some\"").is_err());
    }
}
