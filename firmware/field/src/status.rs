use frond_board::Pattern;

use crate::io::Condition;

/// What the lamps are to say.
pub(crate) fn pattern(condition: Option<&Condition>, is_served: bool) -> Pattern {
    match condition {
        None => Pattern::Booting,
        Some(_) if !is_served => Pattern::Fault,
        Some(it) if !it.is_healthy => Pattern::Degraded,
        Some(it) if it.lines == 0 || it.lines_up == 0 => Pattern::LocalOnly,
        Some(it) if it.lines_up < it.lines => Pattern::Degraded,
        Some(_) => Pattern::Online,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lamps_say_how_it_is() {
        let it = |lines, lines_up, is_healthy| Condition {
            lines,
            lines_up,
            is_healthy,
            is_time_trusted: true,
        };
        let cases = [
            (None, true, Pattern::Booting),
            (Some(it(1, 1, true)), true, Pattern::Online),
            (Some(it(1, 0, true)), true, Pattern::LocalOnly),
            (Some(it(0, 0, true)), true, Pattern::LocalOnly),
            (Some(it(2, 1, true)), true, Pattern::Degraded),
            (Some(it(1, 1, false)), true, Pattern::Degraded),
            (Some(it(1, 1, true)), false, Pattern::Fault),
        ];
        for (condition, is_served, want) in cases {
            assert_eq!(
                pattern(condition.as_ref(), is_served),
                want,
                "{condition:?}"
            );
        }
    }
}
