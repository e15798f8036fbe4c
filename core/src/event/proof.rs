//! The proof of an end: the evidence behind the word "done".

use serde::{Deserialize, Deserializer, Serialize};

/// The evidence behind the word "done", from the weakest on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Proof {
    /// Tests were changed and pass only as changed, which their user has not confirmed.
    Unconfirmed,
    /// The agent's word and the boxes that it ticked.
    #[default]
    Nothing,
    /// The exit codes of goals.
    ExitCodes,
    /// Tests that were counted, with what guards them as it was or confirmed, and that notice a change.
    Tests,
}

impl Proof {
    pub(super) fn is_default(&self) -> bool {
        *self == Proof::default()
    }
}

impl<'de> Deserialize<'de> for Proof {
    /// A proof is read by its name. Journals before there were proofs have a boolean: goals had passed, or there were none.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "kebab-case")]
        enum Name {
            Unconfirmed,
            Nothing,
            ExitCodes,
            Tests,
        }
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Name(Name),
            Verified(bool),
        }
        Ok(match Written::deserialize(deserializer)? {
            Written::Name(Name::Unconfirmed) => Proof::Unconfirmed,
            Written::Name(Name::Nothing) | Written::Verified(false) => Proof::Nothing,
            Written::Name(Name::ExitCodes) | Written::Verified(true) => Proof::ExitCodes,
            Written::Name(Name::Tests) => Proof::Tests,
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
