//! A meter that speaks Modbus over TCP.

use std::collections::BTreeMap;
use std::future::{Ready, ready};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};

use tokio::runtime::Runtime;
use tokio_modbus::server::Service;
use tokio_modbus::server::tcp::{Server, accept_tcp_connection};
use tokio_modbus::{ExceptionCode, Request, Response, SlaveRequest};

/// Its number on the line.
pub(crate) const UNIT: u8 = 3;

/// Gone with its connections when dropped.
pub(crate) struct Meter {
    pub(crate) addr: SocketAddr,
    device: Device,
    _runtime: Runtime,
}

#[derive(Clone, Default)]
struct Device(Arc<Mutex<BTreeMap<u16, u16>>>);

impl Meter {
    /// At an address of its own, or one that it had before.
    pub(crate) fn start(addr: &str, registers: &[(u16, u16)]) -> Self {
        let listener = TcpListener::bind(addr).unwrap();
        listener.set_nonblocking(true).unwrap();
        let addr = listener.local_addr().unwrap();
        let device = Device::default();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let own = device.clone();
        runtime.spawn(async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            let comes = |stream, addr| {
                let own = own.clone();
                ready(accept_tcp_connection(stream, addr, move |_| {
                    Ok(Some(own.clone()))
                }))
            };
            Server::new(listener).serve(&comes, |_| ()).await
        });
        let it = Self {
            addr,
            device,
            _runtime: runtime,
        };
        it.set(registers);
        it
    }

    pub(crate) fn set(&self, registers: &[(u16, u16)]) {
        self.device
            .0
            .lock()
            .unwrap()
            .extend(registers.iter().copied());
    }
}

impl Device {
    fn answer(&self, asked: &SlaveRequest<'_>) -> Result<Response, ExceptionCode> {
        if asked.slave != UNIT {
            return Err(ExceptionCode::GatewayTargetDevice);
        }
        if let Request::ReadHoldingRegisters(at, count) = asked.request {
            let registers = self.0.lock().unwrap();
            let words: Option<Vec<u16>> = (at..at + count)
                .map(|at| registers.get(&at).copied())
                .collect();
            let words = words.ok_or(ExceptionCode::IllegalDataAddress)?;
            return Ok(Response::ReadHoldingRegisters(words));
        }
        if let Request::ReadCoils(at, count) = asked.request {
            // Every other one is on.
            let coils = (at..at + count).map(|at| at % 2 == 1);
            return Ok(Response::ReadCoils(coils.collect()));
        }
        Err(ExceptionCode::IllegalFunction)
    }
}

impl Service for Device {
    type Request = SlaveRequest<'static>;
    type Response = Response;
    type Exception = ExceptionCode;
    type Future = Ready<Result<Response, ExceptionCode>>;

    fn call(&self, asked: Self::Request) -> Self::Future {
        ready(self.answer(&asked))
    }
}
