//! The forms of model names: `openai/gpt-5` for agents with many providers, `gpt-5` for others.

/// The form in which an agent expects model names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelForm {
    /// Without provider: `openai/gpt-5` becomes `gpt-5`.
    Name,
    /// `openai/gpt-5`.
    ProviderName,
    /// Passed on unchanged, as the endpoint names it: `gpt-5`, `Qwen/Qwen3-8B`, `qwen3:8b`.
    Any,
}

/// A model name in the form of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedModel<'a> {
    pub name: &'a str,
    /// The provider that was removed, because this agent has only one.
    pub stripped: Option<&'a str>,
}

/// The error for a model without its provider, for an agent that needs one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProviderMissing;

impl ModelForm {
    /// Converts `model` to this form.
    ///
    /// # Errors
    /// [`ProviderMissing`].
    pub fn apply(self, model: &str) -> Result<NamedModel<'_>, ProviderMissing> {
        let as_it_is = NamedModel {
            name: model,
            stripped: None,
        };
        match (self, model.split_once('/')) {
            (ModelForm::Name, Some((provider, name))) => Ok(NamedModel {
                name,
                stripped: Some(provider),
            }),
            (ModelForm::Name, None) | (ModelForm::Any, _) => Ok(as_it_is),
            (ModelForm::ProviderName, Some((provider, name))) if !provider.is_empty() && !name.is_empty() => {
                Ok(as_it_is)
            }
            (ModelForm::ProviderName, Some(_) | None) => Err(ProviderMissing),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_is_taken_off_where_there_is_only_one_and_missed_where_there_are_many() {
        let taken_off = ModelForm::Name.apply("openai/gpt-5");
        assert_eq!(
            taken_off,
            Ok(NamedModel {
                name: "gpt-5",
                stripped: Some("openai")
            })
        );
        assert_eq!(ModelForm::Name.apply("gpt-5").map(|named| named.stripped), Ok(None));
        assert_eq!(
            ModelForm::Any.apply("Qwen/Qwen3-8B").map(|named| named.name),
            Ok("Qwen/Qwen3-8B")
        );
        let whole = ModelForm::ProviderName.apply("openrouter/x/y");
        assert_eq!(whole.map(|named| named.name), Ok("openrouter/x/y"));
        for incomplete in ["gpt-5", "/gpt-5", "openai/"] {
            assert_eq!(ModelForm::ProviderName.apply(incomplete), Err(ProviderMissing));
        }
    }
}
