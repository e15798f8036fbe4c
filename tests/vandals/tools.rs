//! Agents that abuse ralph's own tools: claims, blocks and notes without end, in parallel, for another run, after the
//! end.

use super::{
    VandalScenario,
    scenarios::{GOAL, TICK_ALL, jsonl},
};

/// Serves the tools for calls on standard input; `call ID NAME ARGUMENTS` prints one.
const TOOLS: &str = concat!(
    r#"call() { printf '{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"%s","arguments":%s}}\n' "$@"; }
tools() {
    {
        printf '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}\n'
        cat
    } | '"#,
    env!("CARGO_BIN_EXE_ralph"),
    r#"' mcp "$@" 2>&1
}
"#
);

fn caller(name: &'static str, body: &str, code: i32, iterations: u32, because: &'static str) -> VandalScenario {
    jsonl(name, &format!("{TOOLS}{body}"), code, iterations, because)
}

/// Every scenario, one row each.
pub(super) fn all() -> Vec<VandalScenario> {
    vec![
        caller(
            "claims by its tool, forty times at once",
            r#"for i in $(seq 40); do call "$i" claim_done '{}'; done | tools > claims.txt
            grep -q 'still open' claims.txt && rm claims.txt; over "Claimed.""#,
            7,
            8,
            "BreakerOpen",
        ),
        VandalScenario {
            config: GOAL,
            ..caller(
                "claims by its tool while a goal fails",
                &format!("{TICK_ALL}; call 1 claim_done '{{}}' | tools > /dev/null; over ok"),
                7,
                8,
                "BreakerOpen",
            )
        },
        caller(
            "claims for a run that is not its own",
            r#"call 1 claim_done '{}' | tools --run another > /dev/null; over ok"#,
            7,
            8,
            "BreakerOpen",
        ),
        caller(
            "blocks its task and every other",
            r#"for i in $(seq 20); do call "$i" blocked '{"reason":"Shall I?"}'; done | tools > /dev/null; over ok"#,
            8,
            3,
            "Shall I",
        ),
        caller(
            "floods every tool and works all the same",
            r#"note=$(head -c 100000 /dev/zero | tr '\0' x)
            {
                for i in $(seq 300); do
                    call "$i" progress "{\"note\":\"note $i\"}"
                    call "1$i" task_add "{\"task\":\"More $i\"}"
                    call "2$i" question "{\"question\":\"And $i?\"}"
                    call "3$i" goals_check '{"ticket":7}'
                    call "4$i" plan '[]'
                    call "5$i" stop '{}'
                    echo rubbish
                done
                call 9 progress "{\"note\":\"$note\"}"
            } | tools > /dev/null; work; over ok"#,
            0,
            2,
            "Done",
        ),
        caller(
            "leaves somebody behind who goes on calling",
            r#"(while call 1 claim_done '{}'; do sleep 0.02; done | tools > /dev/null 2>&1) & over ok"#,
            7,
            8,
            "BreakerOpen",
        ),
    ]
}
