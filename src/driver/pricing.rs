//! Gives the usage of a session its cost, if the agent reports tokens and no cost.

use std::sync::Arc;

use ralph_agent::Prices;
use ralph_core::event::{AgentSignal, Usage};

/// The prices that apply to one session.
pub(super) struct SessionPricing {
    /// `None` if the agent reports its cost.
    prices: Option<Arc<Prices>>,
    adapter: String,
    /// The requested model.
    model: Option<String>,
    /// The model as the agent calls it.
    reported: Option<String>,
}

impl SessionPricing {
    pub(super) fn new(prices: Option<Arc<Prices>>, adapter: &str, model: Option<String>) -> Self {
        Self {
            prices,
            adapter: adapter.to_owned(),
            model,
            reported: None,
        }
    }

    /// Returns the signal with an estimated cost, if it has tokens and no cost.
    pub(super) fn price(&mut self, signal: AgentSignal) -> AgentSignal {
        match signal {
            AgentSignal::Usage { usage } => AgentSignal::Usage {
                usage: self.estimated(usage),
            },
            AgentSignal::Opened { model, session } => {
                self.reported = model.clone().or(self.reported.take());
                AgentSignal::Opened { model, session }
            }
            other => other,
        }
    }

    fn estimated(&self, usage: Usage) -> Usage {
        let models = || [&self.model, &self.reported].into_iter().flatten().map(String::as_str);
        let price = || self.prices.as_ref()?.find(&self.adapter, models());
        match usage.cost_usd {
            Some(_) => usage,
            None => {
                let cost_usd = price().and_then(|price| price.cost(&usage));
                Usage {
                    cost_usd,
                    estimated: cost_usd.is_some(),
                    ..usage
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_agent::ModelPrice;

    fn pricing(model: Option<&str>) -> SessionPricing {
        let price = |input| ModelPrice {
            input,
            output: 0.0,
            cached_input: None,
        };
        let prices = vec![("big".to_owned(), price(5.0)), ("small".to_owned(), price(1.0))];
        SessionPricing::new(Some(Arc::new(Prices::new(prices))), "codex", model.map(str::to_owned))
    }

    fn million(cost_usd: Option<f64>) -> AgentSignal {
        let usage = Usage {
            input_tokens: Some(1_000_000),
            cost_usd,
            ..Usage::default()
        };
        AgentSignal::Usage { usage }
    }

    fn cost(signal: &AgentSignal) -> (Option<f64>, bool) {
        let AgentSignal::Usage { usage } = signal else {
            panic!("{signal:?} is no usage");
        };
        (usage.cost_usd, usage.estimated)
    }

    #[test]
    fn the_requested_model_has_the_price_and_else_the_one_that_the_agent_reports() {
        let opened = || AgentSignal::Opened {
            session: None,
            model: Some("small-2".to_owned()),
        };
        let mut named = pricing(Some("big"));
        named.price(opened());
        assert_eq!(cost(&named.price(million(None))), (Some(5.0), true));
        let mut unnamed = pricing(None);
        assert_eq!(cost(&unnamed.price(million(None))), (None, false));
        unnamed.price(opened());
        assert_eq!(cost(&unnamed.price(million(None))), (Some(1.0), true));
    }

    #[test]
    fn a_reported_cost_stays_as_it_is() {
        assert_eq!(
            cost(&pricing(Some("big")).price(million(Some(0.5)))),
            (Some(0.5), false)
        );
        let mut reports_cost = SessionPricing::new(None, "claude", Some("big".to_owned()));
        assert_eq!(cost(&reports_cost.price(million(None))), (None, false));
    }
}
