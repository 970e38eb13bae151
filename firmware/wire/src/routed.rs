//! Operations of routes and gateways, which name the account they are about.
//! spec: nats-server v2.15.1 `processRoutedMsgArgs`, `processRoutedOriginClusterMsgArgs`,
//! `parseUnsubProto`, `processRemoteSub` in server/client.go and server/route.go

use crate::fields::{Fields, parse_size};
use crate::operation::{Body, Found, Payload, sizes};
use crate::verb::Verb;
use crate::{Message, Op, RouteOp, WireError};

pub(crate) fn message<'b>(
    verb: Verb,
    named: bool,
    line: &'b str,
    body: &Body<'b>,
) -> Result<Found<'b>, WireError> {
    let bad = WireError::BadArguments("a routed message needs an account, a subject and its sizes");
    let has_origin = verb == Verb::OriginMsg;
    let mut fields = Fields::of(line);
    let (header, size) = sizes(&mut fields, verb != Verb::RouteMsg).ok_or(bad)?;
    let (account, origin) = owner(&mut fields, has_origin, named).ok_or(bad)?;
    let subject = fields.next().ok_or(bad)?;
    // One word between subject and sizes is a reply, whatever it looks like.
    let (reply, first_queue) = match (fields.next(), fields.next()) {
        (reply, None) => (reply, None),
        (Some("+"), reply) => (reply, None),
        (Some("|"), queue) => (None, queue),
        (_, Some(_)) => {
            return Err(WireError::BadArguments(
                "a routed message has a bad or missing reply indicator",
            ));
        }
    };
    Ok(match body.read(header, size)? {
        Payload::Need(total) => Found::Need(total),
        Payload::Complete {
            header,
            payload,
            end,
        } => {
            let message = Message {
                subject,
                reply,
                header,
                payload,
            };
            let queues = first_queue.into_iter().chain(fields).collect();
            let op = RouteOp::Message {
                account,
                origin,
                message,
                queues,
            };
            Found::Complete(Op::Route(op), end)
        }
    })
}

/// A weight below one counts as one: there is at least the subscriber that was announced.
pub(crate) fn subscribe(origin: bool, named: bool, line: &str) -> Result<Op<'_>, WireError> {
    let bad = WireError::BadArguments(
        "RS+ needs an account and a subject, perhaps with a queue group and a weight",
    );
    let mut fields = Fields::of(line);
    let (account, origin) = owner(&mut fields, origin, named).ok_or(bad)?;
    let subject = fields.next().ok_or(bad)?;
    let queue = match (fields.next(), fields.next(), fields.next()) {
        (None, _, _) => None,
        (Some(queue), Some(weight), None) => {
            let weight = parse_size(weight).and_then(|weight| u32::try_from(weight).ok());
            Some((queue, weight.unwrap_or(1).max(1)))
        }
        (Some(_), _, _) => return Err(bad),
    };
    Ok(Op::Route(RouteOp::Subscribe {
        account,
        origin,
        subject,
        queue,
    }))
}

pub(crate) fn unsubscribe(origin: bool, named: bool, line: &str) -> Result<Op<'_>, WireError> {
    let bad =
        WireError::BadArguments("RS- needs an account and a subject, perhaps with a queue group");
    let mut fields = Fields::of(line);
    let (account, origin) = owner(&mut fields, origin, named).ok_or(bad)?;
    let subject = fields.next().ok_or(bad)?;
    let queue = fields.next();
    if fields.next().is_some() {
        return Err(bad);
    }
    Ok(Op::Route(RouteOp::Unsubscribe {
        account,
        origin,
        subject,
        queue,
    }))
}

pub(crate) fn account(wanted: bool, line: &str) -> Result<Op<'_>, WireError> {
    let mut fields = Fields::of(line);
    match (fields.next(), fields.next()) {
        (Some(name), None) => Ok(Op::Route(RouteOp::Account { name, wanted })),
        (_, _) => Err(WireError::BadArguments("A+ and A- need an account")),
    }
}

type Owner<'a> = (Option<&'a str>, Option<&'a str>);

/// Account and origin, as far as the line has them; the origin comes first.
fn owner<'a>(fields: &mut Fields<'a>, has_origin: bool, named: bool) -> Option<Owner<'a>> {
    let origin = if has_origin {
        Some(fields.next()?)
    } else {
        None
    };
    let account = if named { Some(fields.next()?) } else { None };
    Some((account, origin))
}

#[cfg(test)]
mod tests {
    use crate::{Dialect, Limits, Op, Parser, RouteOp, Step, WireError};

    fn parse(dialect: Dialect, line: &str) -> Result<String, WireError> {
        let mut parser = Parser::new(dialect, Limits::default());
        match parser.parse(line.as_bytes())? {
            Step::Op { op, consumed } => {
                assert_eq!(consumed, line.len(), "{line:?}");
                Ok(told(&op))
            }
            Step::Need(_) => panic!("incomplete: {line:?}"),
        }
    }

    fn told(op: &Op<'_>) -> String {
        let Op::Route(op) = op else {
            panic!("{op:?}");
        };
        match op {
            RouteOp::Subscribe {
                account,
                origin,
                subject,
                queue,
            } => format!("+ {account:?} {origin:?} {subject} {queue:?}"),
            RouteOp::Unsubscribe {
                account,
                origin,
                subject,
                queue,
            } => format!("- {account:?} {origin:?} {subject} {queue:?}"),
            RouteOp::Message {
                account,
                origin,
                message,
                queues,
            } => format!(
                "{account:?} {origin:?} {} {:?} {}/{} {queues:?}",
                message.subject,
                message.reply,
                message.header.len(),
                message.payload.len()
            ),
            RouteOp::Account { name, wanted } => format!("{name} {wanted}"),
        }
    }

    /// spec: wire-2 section 22, lines seen from a real server
    #[test]
    fn what_a_real_server_says_is_understood() {
        for (line, meaning) in [
            ("RS+ A foo\r\n", r#"+ Some("A") None foo None"#),
            (
                "RS+ A q grp 2\r\n",
                r#"+ Some("A") None q Some(("grp", 2))"#,
            ),
            ("RS- A cl\r\n", r#"- Some("A") None cl None"#),
            ("RS- A cl q\r\n", r#"- Some("A") None cl Some("q")"#),
            ("LS+ _ A foo\r\n", r#"+ Some("A") Some("_") foo None"#),
            (
                "LS+ CL9 A q2 grp 2\r\n",
                r#"+ Some("A") Some("CL9") q2 Some(("grp", 2))"#,
            ),
            ("LS- CL9 A foo2\r\n", r#"- Some("A") Some("CL9") foo2 None"#),
            ("RMSG A s 2\r\nhi\r\n", r#"Some("A") None s None 0/2 []"#),
            (
                "RMSG A qq | g1 g2 1\r\nx\r\n",
                r#"Some("A") None qq None 0/1 ["g1", "g2"]"#,
            ),
            (
                "RMSG A qq + re.1 g1 g2 1\r\nx\r\n",
                r#"Some("A") None qq Some("re.1") 0/1 ["g1", "g2"]"#,
            ),
            (
                "LMSG CL9 A pubt 0 2\r\nhi\r\n",
                r#"Some("A") Some("CL9") pubt None 0/2 []"#,
            ),
            (
                "HMSG A pubt rep 12 14\r\nNATS/1.0\r\n\r\nhi\r\n",
                r#"Some("A") None pubt Some("rep") 12/2 []"#,
            ),
            ("A- ACC\r\n", "ACC false"),
        ] {
            assert_eq!(parse(Dialect::Route, line).unwrap(), meaning, "{line}");
        }
    }

    #[test]
    fn a_route_for_one_account_does_not_name_it() {
        for (line, meaning) in [
            ("RS+ foo\r\n", "+ None None foo None"),
            ("RS+ q grp 2\r\n", r#"+ None None q Some(("grp", 2))"#),
            ("LS- CL9 foo q\r\n", r#"- None Some("CL9") foo Some("q")"#),
            ("RMSG s r 1\r\nx\r\n", r#"None None s Some("r") 0/1 []"#),
            (
                "LMSG CL9 s 0 1\r\nx\r\n",
                r#"None Some("CL9") s None 0/1 []"#,
            ),
        ] {
            assert_eq!(
                parse(Dialect::PinnedRoute, line).unwrap(),
                meaning,
                "{line}"
            );
        }
    }

    #[test]
    fn lines_with_too_little_or_too_much_are_refused() {
        for line in [
            "RS+ A\r\n",
            "RS+ A s q\r\n",
            "RS+ A s q 1 1\r\n",
            "RS- A\r\n",
            "RS- A s q 1\r\n",
            "LS+ C A\r\n",
            "RMSG A 1\r\nx\r\n",
            "RMSG A s r q 1\r\nx\r\n",
            "HMSG A s 5 3\r\nabc\r\n",
            "A+ \r\n",
        ] {
            let refused = parse(Dialect::Route, line).unwrap_err();
            assert!(matches!(refused, WireError::BadArguments(_)), "{line}");
        }
    }
}
