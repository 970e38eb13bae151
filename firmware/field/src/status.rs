use frond_board::Pattern;

use crate::io::Condition;

/// What the lamps are to say: how the server is, in the server's own words, unless nothing goes
/// through it.
pub(crate) fn pattern(condition: Option<&Condition>, is_served: bool) -> Pattern {
    match condition {
        None => Pattern::Booting,
        Some(_) if !is_served => Pattern::Fault,
        Some(it) => it.shown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lamps_say_how_it_is() {
        for shown in Pattern::ALL {
            let it = Condition {
                lines: 1,
                lines_up: 1,
                shown,
                is_time_trusted: true,
            };
            assert_eq!(pattern(Some(&it), true), shown);
            assert_eq!(pattern(Some(&it), false), Pattern::Fault);
        }
        assert_eq!(pattern(None, true), Pattern::Booting);
        assert_eq!(pattern(None, false), Pattern::Booting);
    }
}
