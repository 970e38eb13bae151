//! Modbus, polled: its thread has an event loop of its own, for the library wants one.

use std::fs::File;
use std::io;
use std::time::Duration;

use frond_config::{Modbus, ModbusLine, Register, RegisterKind, RegisterTable};
use frond_linux::Serial;
use tokio::net::unix::pipe;
use tokio::runtime::Runtime;
use tokio_modbus::client::{Client as _, Context, Reader as _};
use tokio_modbus::prelude::{Slave, SlaveContext as _, rtu, tcp};

use crate::desk::Place;
use crate::serial::options_of;

/// A line to one or more devices.
#[derive(Default)]
pub(crate) struct Line {
    runtime: Option<Runtime>,
    context: Option<Context>,
}

/// What devices share a line by.
pub(crate) fn line_name(device: &Modbus) -> &str {
    match &device.line {
        ModbusLine::Tcp(host) => host,
        ModbusLine::Rtu(port) => &port.name,
    }
}

impl Line {
    /// Reads every register of a device. What fails is told for each by itself; a line that does
    /// not answer is asked no further.
    pub(crate) fn poll(&mut self, place: &Place, device: &Modbus) -> Vec<Result<f64, String>> {
        if self.runtime.is_none() {
            let made = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            self.runtime = made.ok();
        }
        let Some(runtime) = self.runtime.take() else {
            return all(device, "no event loop for it");
        };
        let values = runtime.block_on(self.read_all(place, device));
        self.runtime = Some(runtime);
        values
    }

    async fn read_all(&mut self, place: &Place, device: &Modbus) -> Vec<Result<f64, String>> {
        let mut values = Vec::with_capacity(device.registers.len());
        for register in &device.registers {
            let read = self.read(place, device, register);
            let value = match tokio::time::timeout(device.timeout, read).await {
                Ok(value) => value,
                Err(_) => Err(Fault::Line("no answer in time".to_owned())),
            };
            match value {
                Ok(value) => values.push(Ok(value)),
                Err(Fault::Register(why)) => values.push(Err(why)),
                Err(Fault::Line(why)) => {
                    self.hang_up().await;
                    let name = &device.name;
                    values.resize(device.registers.len(), Err(format!("{name}: {why}")));
                    return values;
                }
            }
        }
        values
    }

    async fn hang_up(&mut self) {
        if let Some(mut context) = self.context.take() {
            let goodbye = context.disconnect();
            let _ = tokio::time::timeout(Duration::from_millis(100), goodbye).await;
        }
    }

    async fn read(
        &mut self,
        place: &Place,
        device: &Modbus,
        register: &Register,
    ) -> Result<f64, Fault> {
        if self.context.is_none() {
            let made = connect(place, device).await;
            self.context = Some(made.map_err(|error| Fault::Line(error.to_string()))?);
        }
        let Some(context) = &mut self.context else {
            return Err(Fault::Line("not connected".to_owned()));
        };
        context.set_slave(Slave(device.unit));
        let (at, words) = (register.address, register.kind.words());
        let bit = |bits: Vec<bool>| bits.first().map(|on| f64::from(u8::from(*on)));
        let value = match register.table {
            RegisterTable::Coil => bit(told(context.read_coils(at, 1).await)?),
            RegisterTable::Discrete => bit(told(context.read_discrete_inputs(at, 1).await)?),
            RegisterTable::Holding => number(
                register,
                &told(context.read_holding_registers(at, words).await)?,
            ),
            RegisterTable::Input => number(
                register,
                &told(context.read_input_registers(at, words).await)?,
            ),
        };
        value.ok_or_else(|| Fault::Register("fewer registers than asked for".to_owned()))
    }
}

/// What failed.
enum Fault {
    /// The device has an answer, and it is no.
    Register(String),
    /// There is no answer.
    Line(String),
}

fn told<T>(answer: tokio_modbus::Result<T>) -> Result<T, Fault> {
    match answer {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(exception)) => Err(Fault::Register(format!("the device says: {exception}"))),
        Err(error) => Err(Fault::Line(error.to_string())),
    }
}

async fn connect(place: &Place, device: &Modbus) -> io::Result<Context> {
    let slave = Slave(device.unit);
    match &device.line {
        ModbusLine::Tcp(host) => {
            let stream = tokio::net::TcpStream::connect(host.as_str()).await?;
            stream.set_nodelay(true)?;
            Ok(tcp::attach_slave(stream, slave))
        }
        ModbusLine::Rtu(port) => {
            let name = place.board.bus(&port.name);
            let serial = Serial::open(&place.roots, name, options_of(port))?;
            // A terminal is waited for, read and written like the two ends of a pipe.
            let file = File::from(serial.into_fd());
            let reader = pipe::Receiver::from_file_unchecked(file.try_clone()?)?;
            let writer = pipe::Sender::from_file_unchecked(file)?;
            Ok(rtu::attach_slave(tokio::io::join(reader, writer), slave))
        }
    }
}

fn all(device: &Modbus, why: &str) -> Vec<Result<f64, String>> {
    vec![Err(why.to_owned()); device.registers.len()]
}

/// The high word comes first, unless it is swapped.
fn number(register: &Register, words: &[u16]) -> Option<f64> {
    let first = *words.first()?;
    let second = words.get(1).copied();
    let long = || {
        let (high, low) = if register.swap {
            (second?, first)
        } else {
            (first, second?)
        };
        Some(u32::from(high) << 16 | u32::from(low))
    };
    Some(match register.kind {
        RegisterKind::U16 => f64::from(first),
        RegisterKind::I16 => f64::from(first.cast_signed()),
        RegisterKind::U32 => f64::from(long()?),
        RegisterKind::I32 => f64::from(long()?.cast_signed()),
        RegisterKind::F32 => f64::from(f32::from_bits(long()?)),
    })
}
