//! Where a traced message went.

use frond_account::{Import, ResponseType, ServiceExport, TracePlan};

use super::sharing::{STREAM, account, import, service, stream, world};
use super::world::{World, login};
use crate::{Conn, Output, TraceReport, TraceStep};

fn client(world: &mut World, name: &str) -> Conn {
    world.client(&login(name))
}

fn publish(world: &mut World, conn: Conn, subject: &str, header: &str) {
    let header = format!("NATS/1.0\r\n{header}\r\n\r\n");
    let (head, total) = (header.len(), header.len() + 1);
    world.say(
        conn,
        &format!("HPUB {subject} {head} {total}\r\n{header}m\r\n"),
    );
}

fn reports(world: &mut World) -> Vec<TraceReport> {
    let outputs = std::mem::take(&mut world.outputs);
    let reports = outputs.into_iter().filter_map(|output| {
        let Output::Traced(report) = output else {
            return None;
        };
        Some(*report)
    });
    reports.collect()
}

/// A report's events, each as one word or a few.
fn told(report: &TraceReport) -> Vec<String> {
    let word = |step: &TraceStep| match step {
        TraceStep::Ingress { subject, error, .. } => {
            format!("in {subject} {}", error.as_deref().unwrap_or("-"))
        }
        TraceStep::Mapped { to } => format!("sm {to}"),
        TraceStep::StreamExport { account, to } => format!("se {account} {to}"),
        TraceStep::ServiceImport { account, from, to } => format!("si {account} {from} {to}"),
        TraceStep::Internal => "internal".to_owned(),
        TraceStep::Egress {
            filter,
            queue,
            account,
            error,
            ..
        } => format!("eg {filter} {queue} {account} {error}"),
    };
    report
        .events
        .iter()
        .map(|event| word(&event.step).trim_end().to_owned())
        .collect()
}

fn the_only(world: &mut World) -> TraceReport {
    let mut reports = reports(world);
    assert_eq!(reports.len(), 1);
    reports.remove(0)
}

#[test]
fn every_receiver_is_told_and_gets_the_message() {
    let mut world = World::open_to_all();
    let (a, b) = (world.quiet(), world.quiet());
    world.say(b, "SUB a.* 1\r\nSUB a.> g 2\r\n");
    publish(&mut world, a, "a.b", "Nats-Trace-Dest: t");
    let report = the_only(&mut world);
    assert_eq!(
        told(&report),
        ["in a.b -", "eg a.*", "eg a.> g"],
        "{report:?}"
    );
    assert_eq!((&*report.subject, report.hops), ("t", 0));
    assert_eq!(report.header["Nats-Trace-Dest"], ["t"]);
    assert_eq!(world.read(b).matches("HMSG").count(), 2);
}

#[test]
fn a_message_that_is_only_traced_reaches_nobody() {
    let mut world = World::open_to_all();
    let (a, b) = (world.quiet(), world.quiet());
    world.say(b, "SUB a 1\r\nUNSUB 1 1\r\n");
    for yes in ["1", "true", "ON"] {
        let header = format!("Nats-Trace-Dest: t\r\nNats-Trace-Only: {yes}");
        publish(&mut world, a, "a", &header);
        assert_eq!(told(&the_only(&mut world)), ["in a -", "eg a"]);
        assert_eq!(world.read(b), "");
    }
    publish(
        &mut world,
        a,
        "a",
        "Nats-Trace-Dest: t\r\nNats-Trace-Only: 0",
    );
    assert_eq!(told(&the_only(&mut world)), ["in a -", "eg a"]);
    assert!(world.read(b).starts_with("HMSG a 1 "));
}

#[test]
fn nothing_is_traced_without_being_asked_for() {
    let mut world = World::open_to_all();
    let a = world.quiet();
    for header in [
        "Other: t",
        "Nats-Trace-Dest: trace disabled",
        "nats-trace-dest: t",
        "Nats-Trace-Only: 1",
        "traceparent: 00-1-1-01",
        "Nats-Trace-Dest: no.*",
        "Nats-Trace-Dest: t\r\nNats-Trace-Origin-Account: A",
    ] {
        publish(&mut world, a, "a", header);
        assert_eq!(reports(&mut world), [], "{header}");
    }
}

#[test]
fn an_account_may_have_a_place_for_foreign_traces() {
    let mut plan = account("A", vec![], vec![]);
    plan.msg_trace = Some(TracePlan {
        subject: "traces".into(),
        sampling: 100,
    });
    let mut world = world(vec![plan]);
    let a = client(&mut world, "a");
    for (context, traced) in [("00-1-1-01", true), ("00-1-1-00", false)] {
        publish(&mut world, a, "a", &format!("TraceParent: {context}"));
        let to: Vec<_> = reports(&mut world)
            .into_iter()
            .map(|it| it.subject)
            .collect();
        let expected: &[&str] = if traced { &["traces"] } else { &[] };
        assert_eq!(to, expected, "{context}");
    }
}

#[test]
fn accounts_say_whether_a_trace_goes_on() {
    for allow_trace in [true, false] {
        let plan = ServiceExport {
            response: ResponseType::Singleton,
            threshold: None,
            latency: None,
            allow_trace,
        };
        let imports = |to: &str| -> Vec<Import> {
            vec![
                import(super::sharing::SERVICE, "A", "s.>", to),
                import(STREAM, "A", "e.>", "f.>"),
            ]
        };
        let exports = vec![service("s.>", plan), stream("e.>")];
        let mut world = world(vec![
            account("A", exports, vec![]),
            account("B", vec![], imports("l.>")),
        ]);
        let (a, b) = (client(&mut world, "a"), client(&mut world, "b"));
        world.say(a, "SUB s.x 1\r\n");
        world.say(b, "SUB f.x 1\r\n");
        publish(&mut world, b, "l.x", "Nats-Trace-Dest: t");
        let mut expected = vec!["in l.x -".to_owned(), "si A l.x s.x".to_owned()];
        if allow_trace {
            expected.push("eg s.x  A".to_owned());
        }
        assert_eq!(told(&the_only(&mut world)), expected);
        let seen = world.read(a);
        let disabled = seen.contains("Nats-Trace-Dest: trace disabled");
        assert!(
            seen.contains("HMSG s.x 1") && disabled != allow_trace,
            "{seen}"
        );
        publish(&mut world, a, "e.x", "Nats-Trace-Dest: t");
        assert_eq!(told(&the_only(&mut world)), ["in e.x -", "se B f.x"]);
        assert!(world.read(b).contains("HMSG f.x 1"));
    }
}

#[test]
fn who_must_not_publish_is_told_so_and_the_trace_too() {
    let mut world = World::open_to_all();
    let a = world.quiet();
    publish(&mut world, a, "$NRG.x", "Nats-Trace-Dest: t");
    let refusal = "Permissions Violation for Publish to \"$NRG.x\"";
    assert_eq!(
        told(&the_only(&mut world)),
        [format!("in $NRG.x {refusal}")]
    );
    assert!(world.read(a).contains(refusal));
    publish(&mut world, a, "a", "Nats-Trace-Dest: _GR_.x");
    assert_eq!(reports(&mut world), []);
    assert!(world.read(a).contains("Publish to \"_GR_.x\""));
}

#[test]
fn what_is_too_large_is_told_as_far_as_it_has_come() {
    let (whole, cut) = (
        "Nats-Trace-Dest: t\r\nA: b\r\n\r\n",
        "Nats-Trace-Dest: t\r\nA",
    );
    for header in [whole, cut] {
        let mut world = World::open_to_all();
        let a = world.quiet();
        let size = 100 << 20;
        world.say(a, &format!("HPUB a.b r 40 {size}\r\nNATS/1.0\r\n{header}"));
        let report = the_only(&mut world);
        assert_eq!(told(&report), ["in a.b maximum payload exceeded"]);
        assert_eq!((&*report.subject, report.bytes), ("t", size));
        assert!(world.read(a).contains("Maximum Payload Violation"));
    }
    for said in [
        "PUB a.b 104857600\r\nNats-Trace-Dest: t\r\n",
        "HPUB a.b 10 104857600\r\n",
        "HPUB a.b 40 104857600\r\nNATS/1.0\r\nOther: t\r\n\r\n",
    ] {
        let mut world = World::open_to_all();
        let a = world.quiet();
        world.say(a, said);
        assert!(reports(&mut world).is_empty(), "{said}");
    }
}
