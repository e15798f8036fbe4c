//! The JSON encoding of the OpenTelemetry protocol: 64-bit numbers are strings, ids are hexadecimal.

use ralph_core::event::RunId;
use ralph_system::paths::digest;
use serde_json::{Value, json};

/// Boundaries of the histogram of tokens, as the conventions for generative AI have them.
const TOKEN_BOUNDS: [u64; 14] = [
    1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864,
];
/// The code of spans that describe work within a process.
const INTERNAL: u32 = 1;
/// The code of a status that tells of an error.
const ERROR: u32 = 2;
/// The code of metrics that count from the point before.
const DELTA: u32 = 1;

/// The attributes of a span or a point. Attributes without a value are left out.
#[derive(Debug, Clone, Default)]
pub(super) struct Attributes(Vec<Value>);

impl Attributes {
    #[must_use]
    pub(super) fn text(self, key: &str, value: impl Into<Option<String>>) -> Self {
        self.with(key, value.into().map(|text| json!({ "stringValue": text })))
    }

    #[must_use]
    pub(super) fn number(self, key: &str, value: impl Into<Option<u64>>) -> Self {
        self.with(
            key,
            value.into().map(|number| json!({ "intValue": number.to_string() })),
        )
    }

    #[must_use]
    pub(super) fn amount(self, key: &str, value: impl Into<Option<f64>>) -> Self {
        self.with(key, value.into().map(|amount| json!({ "doubleValue": amount })))
    }

    #[must_use]
    pub(super) fn flag(self, key: &str, value: impl Into<Option<bool>>) -> Self {
        self.with(key, value.into().map(|flag| json!({ "boolValue": flag })))
    }

    fn with(mut self, key: &str, value: Option<Value>) -> Self {
        self.0.extend(value.map(|value| json!({ "key": key, "value": value })));
        self
    }
}

/// A span that has ended.
#[derive(Debug)]
pub(super) struct EndedSpan<'a> {
    pub(super) run: &'a RunId,
    pub(super) id: String,
    pub(super) parent: Option<String>,
    pub(super) name: String,
    pub(super) start_ms: u64,
    pub(super) end_ms: u64,
    /// The kind of error with which it ended.
    pub(super) error: Option<String>,
    pub(super) attributes: Attributes,
}

impl EndedSpan<'_> {
    pub(super) fn encoded(self) -> Value {
        let attributes = self.attributes.text("error.type", self.error.clone());
        let mut span = json!({
            "traceId": trace_id(self.run),
            "spanId": self.id,
            "name": self.name,
            "kind": INTERNAL,
            "startTimeUnixNano": nanoseconds(self.start_ms),
            "endTimeUnixNano": nanoseconds(self.end_ms.max(self.start_ms)),
            "attributes": attributes.0,
            "status": {},
        });
        if let Some(parent) = self.parent {
            span["parentSpanId"] = parent.into();
        }
        if self.error.is_some() {
            span["status"] = json!({ "code": ERROR });
        }
        span
    }
}

/// The times between which a metric was measured.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measured {
    pub(super) from_ms: u64,
    pub(super) until_ms: u64,
}

/// Returns the histogram of used tokens with one measurement for each type of token.
pub(super) fn tokens(by_type: &[(&str, u64)], attributes: &Attributes, measured: Measured) -> Value {
    let points: Vec<Value> = by_type
        .iter()
        .map(|(kind, tokens)| {
            let bucket = TOKEN_BOUNDS.iter().position(|bound| tokens <= bound);
            let bucket = bucket.unwrap_or(TOKEN_BOUNDS.len());
            let counts = (0..=TOKEN_BOUNDS.len()).map(|at| u32::from(at == bucket).to_string());
            let attributes = attributes.clone().text("gen_ai.token.type", (*kind).to_owned());
            json!({
                "attributes": attributes.0,
                "startTimeUnixNano": nanoseconds(measured.from_ms),
                "timeUnixNano": nanoseconds(measured.until_ms),
                "count": "1",
                "sum": tokens,
                "explicitBounds": TOKEN_BOUNDS,
                "bucketCounts": counts.collect::<Vec<String>>(),
            })
        })
        .collect();
    json!({
        "name": "gen_ai.client.token.usage",
        "description": "Number of input and output tokens used",
        "unit": "{token}",
        "histogram": { "aggregationTemporality": DELTA, "dataPoints": points },
    })
}

/// Returns the sum of dollars spent.
pub(super) fn cost(dollars: f64, attributes: &Attributes, measured: Measured) -> Value {
    json!({
        "name": "ralph.cost",
        "description": "Cost in US dollars, as reported by the agent or estimated from prices",
        "unit": "{USD}",
        "sum": {
            "aggregationTemporality": DELTA,
            "isMonotonic": true,
            "dataPoints": [{
                "attributes": attributes.0,
                "startTimeUnixNano": nanoseconds(measured.from_ms),
                "timeUnixNano": nanoseconds(measured.until_ms),
                "asDouble": dollars,
            }],
        },
    })
}

/// Returns the body of a request to `/v1/traces`.
pub(super) fn traces(spans: &[Value], resource: &Attributes) -> Value {
    json!({ "resourceSpans": [{ "resource": { "attributes": resource.0 }, "scopeSpans": [{ "scope": scope(), "spans": spans }] }] })
}

/// Returns the body of a request to `/v1/metrics`.
pub(super) fn metrics(metrics: &[Value], resource: &Attributes) -> Value {
    json!({ "resourceMetrics": [{ "resource": { "attributes": resource.0 }, "scopeMetrics": [{ "scope": scope(), "metrics": metrics }] }] })
}

fn scope() -> Value {
    json!({ "name": "ralph", "version": env!("CARGO_PKG_VERSION") })
}

/// Returns the id of a run's trace.
fn trace_id(run: &RunId) -> String {
    ["trace", "trace of"]
        .map(|part| hexadecimal(&format!("{part} {run}")))
        .concat()
}

/// Returns the id of the span of `what` that begins with record `seq`.
pub(super) fn span_id(run: &RunId, what: &str, seq: u64) -> String {
    hexadecimal(&format!("{what} {seq} of {run}"))
}

/// Returns a digest that is not 0, which would be no id.
fn hexadecimal(text: &str) -> String {
    format!("{:016x}", digest(text.as_bytes()).max(1))
}

fn nanoseconds(ms: u64) -> String {
    (u128::from(ms) * 1_000_000).to_string()
}
