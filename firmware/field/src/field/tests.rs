use std::time::Duration;

use frond_board::{Doubt, Measure, Pattern, Quantity};
use frond_clock::{Instant, Now, Timestamp};
use frond_config::{Nothing, load_text};

use super::{Field, Setup};
use crate::io::{Change, Condition, Input, Wish};

mod hearing;

fn at(ms: u64) -> Now {
    Now {
        mono: Instant::START + Duration::from_millis(ms),
        wall: Timestamp::from_nanos(1_800_000_000_000_000_000),
    }
}

fn setup(block: &str, probe_every: Option<Duration>) -> Setup {
    let text = format!("appliance {{\n{block}\n}}");
    let options = load_text(&text, "x.conf", &Nothing)
        .unwrap()
        .config
        .appliance
        .unwrap();
    Setup {
        options,
        probe_every,
        patience: Duration::from_secs(15),
        has_streams: true,
        token: "field".to_owned(),
    }
}

fn field(block: &str, probe_every: Option<Duration>) -> Field {
    Field::new(at(0), setup(block, probe_every))
}

/// Everything it wants, what it says as text.
fn wishes(field: &mut Field) -> (Vec<Wish>, String) {
    let (mut other, mut said) = (Vec::new(), String::new());
    while let Some(wish) = field.poll() {
        match wish {
            Wish::Send(bytes) => said.push_str(&String::from_utf8(bytes).unwrap()),
            wish @ (Wish::Sample(_)
            | Wish::Switch { .. }
            | Wish::Lamp(_)
            | Wish::Feed
            | Wish::HangUp
            | Wish::Rescue
            | Wish::Log(..)) => other.push(wish),
        }
    }
    (other, said)
}

fn greet(field: &mut Field) -> String {
    field.handle(at(0), Input::Connected);
    field.handle(at(0), Input::Bytes(b"INFO {}\r\n"));
    wishes(field).1
}

fn hear(
    field: &mut Field,
    ms: u64,
    subject: &str,
    sid: u32,
    reply: &str,
    payload: &str,
) -> (Vec<Wish>, String) {
    let line = format!(
        "MSG {subject} {sid} {reply} {}\r\n{payload}\r\n",
        payload.len()
    );
    field.handle(at(ms), Input::Bytes(line.as_bytes()));
    wishes(field)
}

#[test]
fn a_bus_that_hangs_is_told_once_and_not_asked_again() {
    let block =
        "sensors: [ { driver: mcp9808, subject: t, interval: 1s, timeout: 500ms, deadband: 1 } ]";
    let mut it = field(block, None);
    assert_eq!(wishes(&mut it).0, [Wish::Sample(0)]);
    greet(&mut it);
    it.handle(at(499), Input::Time);
    assert_eq!(wishes(&mut it).1, "");
    assert!(it.deadline() <= Some(at(500).mono), "it wakes for that");
    it.handle(at(500), Input::Time);
    let (_, said) = wishes(&mut it);
    assert!(
        said.starts_with("PUB t ") && said.contains("\"quality\":\"bad\""),
        "{said}"
    );
    assert!(said.contains("no answer within 500ms"), "{said}");
    for ms in (600..60_000).step_by(100) {
        it.handle(at(ms), Input::Time);
        assert_eq!(wishes(&mut it), (Vec::new(), String::new()), "at {ms}");
    }
    let measure = Measure::good(Quantity::Temperature, 5.0);
    let sampled = Ok(core::iter::once(measure).collect());
    it.handle(at(60_000), Input::Sampled { origin: 0, sampled });
    let (wishes, said) = wishes(&mut it);
    assert!(
        said.contains("\"value\":5,") && said.contains("\"seq\":2"),
        "{said}"
    );
    assert_eq!(wishes, [Wish::Sample(0)]);
}

#[test]
fn only_a_probe_that_was_stored_and_read_back_feeds() {
    let mut it = field(
        "watchdog { device: watchdog }",
        Some(Duration::from_secs(5)),
    );
    let said = greet(&mut it);
    assert!(said.contains("PUB $JS.API.STREAM.CREATE.FROND_PROBE _INBOX.frond.field.stream.0"));
    it.handle(at(5_000), Input::Time);
    let (_, said) = wishes(&mut it);
    assert!(
        said.contains("PUB appliance.probe.field _INBOX.frond.field.probe."),
        "{said}"
    );
    let n = said
        .split("field.probe.")
        .nth(1)
        .unwrap()
        .split(' ')
        .next()
        .unwrap()
        .to_owned();
    let (_, said) = hear(
        &mut it,
        5_001,
        &format!("_INBOX.frond.field.probe.{n}"),
        1,
        "",
        "{\"stream\":\"FROND_PROBE\",\"seq\":4}",
    );
    let read = format!("PUB $JS.API.STREAM.MSG.GET.FROND_PROBE _INBOX.frond.field.read.{n}");
    assert!(said.contains(&read), "{said}");
    let data = data_encoding::BASE64.encode(format!("probe {n}").as_bytes());
    let answer = format!("{{\"message\":{{\"data\":\"{data}\"}}}}");
    let (fed, _) = hear(
        &mut it,
        5_002,
        &format!("_INBOX.frond.field.read.{n}"),
        1,
        "",
        &answer,
    );
    assert!(fed.contains(&Wish::Feed), "{fed:?}");
    // The box runs on, nothing comes back any more.
    for ms in (5_100..120_000).step_by(100) {
        it.handle(at(ms), Input::Time);
        let (unfed, _) = wishes(&mut it);
        assert!(!unfed.contains(&Wish::Feed), "fed at {ms}");
    }
}

#[test]
fn a_command_is_answered_when_it_is_done() {
    let mut it = field(
        "outputs: [ { name: bell, line: a, subject: cmd, max_on: 30s } ]",
        None,
    );
    assert_eq!(
        wishes(&mut it).0,
        [Wish::Switch {
            output: 0,
            on: false
        }]
    );
    greet(&mut it);
    it.handle(
        at(1),
        Input::Switched {
            output: 0,
            fault: None,
        },
    );
    assert!(wishes(&mut it).1.contains("\"why\":\"start\""));
    let (wish, said) = hear(&mut it, 10, "cmd", 1_000, "r.1", "on");
    assert_eq!(
        (wish, said.as_str()),
        (
            vec![Wish::Switch {
                output: 0,
                on: true
            }],
            ""
        )
    );
    it.handle(
        at(20),
        Input::Switched {
            output: 0,
            fault: None,
        },
    );
    let (_, said) = wishes(&mut it);
    assert!(
        said.contains("PUB r.1 ") && said.contains("\"state\":\"on\""),
        "{said}"
    );
    let (_, said) = hear(&mut it, 30, "cmd", 1_000, "r.2", "open sesame");
    assert!(
        said.contains("PUB r.2 ") && said.contains("write on or off"),
        "{said}"
    );
    it.handle(at(30_010), Input::Time);
    assert_eq!(
        wishes(&mut it).0,
        [Wish::Switch {
            output: 0,
            on: false
        }]
    );
}

#[test]
fn a_lost_line_brings_outputs_to_their_safe_state() {
    let mut it = field(
        "outputs: [ { line: a, subject: cmd, on_link_loss: safe } ]",
        None,
    );
    greet(&mut it);
    let line = |lines_up| {
        Input::Condition(Condition {
            lines: 1,
            lines_up,
            shown: Pattern::Online,
            is_time_trusted: true,
        })
    };
    it.handle(
        at(1),
        Input::Switched {
            output: 0,
            fault: None,
        },
    );
    it.handle(at(2), line(1));
    hear(&mut it, 10, "cmd", 1_000, "", "on");
    it.handle(
        at(20),
        Input::Switched {
            output: 0,
            fault: None,
        },
    );
    wishes(&mut it);
    it.handle(at(30), line(0));
    assert_eq!(
        wishes(&mut it).0,
        [Wish::Switch {
            output: 0,
            on: false
        }]
    );
}

#[test]
fn thinned_messages_go_on_under_their_new_name() {
    let mut it = field(
        "conditions: [ { from: \"raw.>\", to: \"up.>\", field: value, deadband: 1 } ]",
        None,
    );
    assert!(greet(&mut it).contains("SUB raw.> 100000"));
    let mut hear = |value: &str| hear(&mut it, 10, "raw.a.b", 100_000, "", value).1;
    assert!(hear("{\"value\":5}").starts_with("PUB up.a.b "));
    assert_eq!(hear("{\"value\":5.5}"), "");
    assert!(hear("{\"value\":6.5}").contains("\"left_out\":1"));
    assert!(hear("no number").starts_with("PUB up.a.b 9\r\nno number"));
}

#[test]
fn what_a_sensor_doubts_is_uncertain_and_says_why() {
    let mut it = field("sensors: [ { driver: mcp9808, subject: t } ]", None);
    greet(&mut it);
    let measure = Measure {
        doubt: Some(Doubt::Fresh),
        ..Measure::good(Quantity::Temperature, 0.0)
    };
    let sampled = Ok(core::iter::once(measure).collect());
    it.handle(at(1), Input::Sampled { origin: 0, sampled });
    let (_, said) = wishes(&mut it);
    assert!(said.contains("\"quality\":\"uncertain\""), "{said}");
    assert!(said.contains(Doubt::Fresh.words()), "{said}");
}

fn changes(all: &[(u64, bool)]) -> Vec<Change> {
    let change = |(ms, active): &(u64, bool)| Change {
        active: *active,
        at: at(*ms).mono,
    };
    all.iter().map(change).collect()
}

/// The states an input was told to be in, and when.
fn told(said: &str) -> Vec<(String, String)> {
    let payloads = said.lines().filter(|line| line.starts_with('{'));
    let jsons = payloads.map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let text = |json: &serde_json::Value, key| json[key].as_str().unwrap().to_owned();
    jsons
        .map(|json| (text(&json, "state"), text(&json, "time")))
        .collect()
}

#[test]
fn a_pulse_that_is_over_when_it_is_told_is_none_the_less_one() {
    let block = "inputs: [ { name: door, line: a, subject: in, debounce: 20ms } ]";
    let mut it = field(block, None);
    greet(&mut it);
    let mut tell = |now: u64, all: &[(u64, bool)]| {
        let changes = changes(all);
        let changes = Ok(changes.as_slice());
        it.handle(at(now), Input::Contact { input: 0, changes });
        told(&wishes(&mut it).1)
    };
    assert_eq!(tell(0, &[(0, false)]).len(), 1);
    // Two pulses long enough to count, and a bounce that is not: all over before anybody heard.
    let all = tell(
        1_000,
        &[
            (700, true),
            (730, false),
            (760, true),
            (800, false),
            (830, true),
            (835, false),
        ],
    );
    let states: Vec<&str> = all.iter().map(|(state, _)| state.as_str()).collect();
    assert_eq!(states, ["active", "inactive", "active", "inactive"]);
    // 300 to 200 ms before the eight o'clock at which these tests stand still.
    let times: Vec<&str> = all.iter().map(|(_, time)| time.as_str()).collect();
    let ends = times.iter().map(|time| time.rsplit_once(':').unwrap().1);
    assert!(ends.eq(["59.7Z", "59.73Z", "59.76Z", "59.8Z"]), "{times:?}");
}

#[test]
fn a_broker_that_comes_late_hears_how_inputs_are() {
    let block = "inputs: [ { line: a, subject: one }, { line: b, subject: two }, { line: c, subject: three } ]";
    let mut it = field(block, None);
    let known = changes(&[(0, true)]);
    let all = [(0, Ok(known.as_slice())), (1, Err("no such line"))];
    for (input, changes) in all {
        it.handle(at(0), Input::Contact { input, changes });
    }
    assert_eq!(wishes(&mut it).1, "");
    let said = greet(&mut it);
    assert!(
        said.contains("PUB one ") && said.contains("\"state\":\"active\""),
        "{said}"
    );
    assert!(
        said.contains("PUB two ") && said.contains("no such line"),
        "{said}"
    );
    assert!(!said.contains("PUB three "), "nobody knows it yet: {said}");
}

#[test]
fn two_short_presses_told_at_once_are_two() {
    let mut it = field("button { line: a, debounce: 20ms }", None);
    greet(&mut it);
    let all = changes(&[
        (0, false),
        (100, true),
        (200, false),
        (300, true),
        (400, false),
    ]);
    it.handle(at(500), Input::Button { changes: &all });
    let (_, said) = wishes(&mut it);
    assert_eq!(said.matches("\"press\":\"short\"").count(), 2, "{said}");
}

#[test]
fn a_probe_of_the_run_before_does_not_feed() {
    let number = |wall: i64| {
        let options = load_text("appliance { watchdog {} }", "x.conf", &Nothing);
        let setup = Setup {
            options: options.unwrap().config.appliance.unwrap(),
            probe_every: Some(Duration::from_secs(5)),
            patience: Duration::from_secs(15),
            has_streams: true,
            token: "field".to_owned(),
        };
        let now = Now {
            wall: Timestamp::from_nanos(wall),
            ..at(0)
        };
        let mut it = Field::new(now, setup);
        it.handle(now, Input::Connected);
        it.handle(now, Input::Bytes(b"INFO {}\r\n"));
        it.handle(at(5_000), Input::Time);
        let (_, said) = wishes(&mut it);
        let (_, rest) = said.split_once("field.probe.").unwrap();
        rest.split_once(' ').unwrap().0.parse::<u64>().unwrap()
    };
    let (before, after) = (
        number(1_800_000_000_000_000_000),
        number(1_800_000_100_000_000_000),
    );
    assert!(after - before > 1_000, "{before} {after}");
}

#[test]
fn a_message_that_is_too_large_is_left_out_and_the_rest_is_heard() {
    let block = "outputs: [ { name: bell, line: a, subject: cmd } ]";
    let mut it = field(block, None);
    greet(&mut it);
    it.handle(
        at(1),
        Input::Switched {
            output: 0,
            fault: None,
        },
    );
    wishes(&mut it);
    let size = 200_000;
    let mut said = format!("MSG cmd 1000 r.1 {size}\r\n").into_bytes();
    said.resize(said.len() + size, b'x');
    said.extend_from_slice(b"\r\nMSG cmd 1000 r.2 2\r\non\r\n");
    let mut switched = Vec::new();
    for piece in said.chunks(16 * 1024) {
        it.handle(at(2), Input::Bytes(piece));
        switched.extend(wishes(&mut it).0);
    }
    let wanted = Wish::Switch {
        output: 0,
        on: true,
    };
    assert!(switched.contains(&wanted), "{switched:?}");
    assert!(!switched.contains(&Wish::HangUp));
    it.handle(at(3), Input::Bytes(b"nonsense\r\n"));
    assert!(wishes(&mut it).0.contains(&Wish::HangUp));
}

#[test]
fn what_a_box_asks_itself_is_no_other_boxs() {
    let options = |token: &str| Setup {
        token: token.to_owned(),
        ..setup(
            "watchdog { device: watchdog }",
            Some(Duration::from_secs(5)),
        )
    };
    let subjects = |token: &str| {
        let mut it = Field::new(at(0), options(token));
        let said = greet(&mut it);
        let subs = said.lines().filter(|line| line.starts_with("SUB "));
        let subs: Vec<String> = subs
            .map(|line| line.split(' ').nth(1).unwrap().to_owned())
            .collect();
        assert_eq!(subs.len(), 2, "{said}");
        subs
    };
    for own in subjects("a") {
        for other in subjects("b") {
            assert!(!frond_subject::overlaps(&own, &other), "{own} {other}");
        }
    }
}
