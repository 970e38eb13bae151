//! A rollout in lines for a terminal.

use serde_json::Value;

use super::now_s;

const BAR: usize = 30;

/// The whole and its waves.
pub(super) fn lines(view: &Value) -> Vec<String> {
    let mut lines = vec![headline(view)];
    let under_way = number(view, "/wave");
    let waves = view.get("waves").and_then(Value::as_array);
    for (at, wave) in (1..).zip(waves.into_iter().flatten()) {
        let mark = if at == under_way && !is_over(view) {
            '>'
        } else {
            ' '
        };
        let wanted = word(wave, "/wanted");
        let bar = bar(wave);
        lines.push(format!(
            "{mark} wave {at:<2} {wanted:>5}  {bar}  {}",
            tally(wave)
        ));
    }
    let failures = view.get("failures").and_then(Value::as_array);
    for failure in failures.into_iter().flatten().take(5) {
        let (name, why) = (word(failure, "/0"), word(failure, "/1"));
        lines.push(format!("  {name}: {why}"));
    }
    lines
}

pub(super) fn is_over(view: &Value) -> bool {
    ["done", "stopped", "aborted"].contains(&word(view, "/state"))
}

/// What a command ends with.
///
/// # Errors
/// Why it is not on the boxes.
pub(super) fn outcome(view: &Value) -> Result<(), String> {
    match word(view, "/state") {
        "stopped" => Err(format!("stopped: {}", word(view, "/why"))),
        "aborted" => Err("aborted".to_owned()),
        _ => Ok(()),
    }
}

fn headline(view: &Value) -> String {
    let (version, all) = (number(view, "/version"), number(view, "/counts/all"));
    let left = number(view, "/until_s").saturating_sub(u64::try_from(now_s()).unwrap_or(0));
    let why = word(view, "/why");
    let state = match word(view, "/state") {
        "telling" => "boxes are told".to_owned(),
        "waiting" => format!("waits {left} s for its window"),
        "baking" => format!("all is well, the next wave in {left} s"),
        "paused" if why.is_empty() => "paused".to_owned(),
        "paused" => format!("paused by {why}"),
        "done" => "done".to_owned(),
        "stopped" => format!("stopped: {why}"),
        "aborted" if why.is_empty() => "aborted".to_owned(),
        "aborted" => format!("aborted by {why}"),
        other => other.to_owned(),
    };
    format!("version {version} to {all} boxes: {state}")
}

fn bar(wave: &Value) -> String {
    let all = number(wave, "/counts/all").max(1);
    let cells = |count: u64| usize::try_from(count * 30 / all).unwrap_or(0).min(BAR);
    let good = cells(number(wave, "/counts/confirmed"));
    let bad = cells(number(wave, "/counts/failed")).min(BAR - good);
    let rest = BAR - good - bad;
    format!(
        "[{}{}{}]",
        "#".repeat(good),
        "!".repeat(bad),
        ".".repeat(rest)
    )
}

fn tally(wave: &Value) -> String {
    let (confirmed, all) = (
        number(wave, "/counts/confirmed"),
        number(wave, "/counts/all"),
    );
    let mut text = format!("{confirmed} of {all}");
    for (at, what) in [
        ("failed", "failed"),
        ("absent", "say nothing"),
        ("pending", "under way"),
    ] {
        let count = number(wave, &format!("/counts/{at}"));
        if count > 0 {
            text += &format!(", {count} {what}");
        }
    }
    text
}

fn number(value: &Value, at: &str) -> u64 {
    value.pointer(at).and_then(Value::as_u64).unwrap_or(0)
}

fn word<'a>(value: &'a Value, at: &str) -> &'a str {
    value
        .pointer(at)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_rollout_is_drawn_wave_by_wave() {
        let counts = |all, confirmed, failed, pending| json!({ "all": all, "confirmed": confirmed, "failed": failed, "pending": pending });
        let view = json!({
            "version": 7, "state": "telling", "wave": 2, "counts": { "all": 20 },
            "waves": [
                { "wanted": "1", "counts": counts(1, 1, 0, 0) },
                { "wanted": "100%", "counts": counts(19, 10, 1, 8) },
            ],
            "failures": [["till-3", "no line"]],
        });
        let want = [
            "version 7 to 20 boxes: boxes are told",
            "  wave 1      1  [##############################]  1 of 1",
            "> wave 2   100%  [###############!..............]  10 of 19, 1 failed, 8 under way",
            "  till-3: no line",
        ];
        assert_eq!(lines(&view), want);
        assert!(!is_over(&view));
        let stopped = json!({ "state": "stopped", "why": "x" });
        assert_eq!(outcome(&stopped), Err("stopped: x".to_owned()));
    }
}
