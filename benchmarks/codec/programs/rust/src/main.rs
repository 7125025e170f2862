//! Calls the messages of kafka-protocol; programs/README.md says what it is asked.

use bytes::{Bytes, BytesMut};
use std::hint::black_box;
use std::io::BufRead;
use std::time::{Duration, Instant};

type Answer<T> = Result<T, String>;

/// One message at one version, and its bodies.
trait Loaded {
    fn count(&self) -> usize;
    fn decode(&self, index: usize);
    fn encode(&self, index: usize) -> BytesMut;
}

macro_rules! kinds {
    ($module:ident, $library:ident) => {
        mod $module {
            use super::{black_box, Answer, Bytes, BytesMut, Loaded};
            use std::convert::TryFrom;
            use $library::messages::{ApiKey, RequestKind, ResponseKind};

            enum Message {
                Request(RequestKind),
                Response(ResponseKind),
            }

            struct All {
                key: ApiKey,
                is_request: bool,
                version: i16,
                bodies: Vec<Bytes>,
                messages: Vec<Message>,
            }

            impl All {
                fn read(&self, body: &Bytes) -> Answer<Message> {
                    let mut rest = body.clone();
                    let read = if self.is_request {
                        RequestKind::decode(self.key, &mut rest, self.version).map(Message::Request)
                    } else {
                        ResponseKind::decode(self.key, &mut rest, self.version).map(Message::Response)
                    };
                    read.map_err(|error| error.to_string())
                }
            }

            impl Loaded for All {
                fn count(&self) -> usize {
                    self.bodies.len()
                }
                fn decode(&self, index: usize) {
                    black_box(self.read(&self.bodies[index]).ok());
                }
                fn encode(&self, index: usize) -> BytesMut {
                    let mut out = BytesMut::new();
                    let done = match &self.messages[index] {
                        Message::Request(kind) => kind.encode(&mut out, self.version),
                        Message::Response(kind) => kind.encode(&mut out, self.version),
                    };
                    done.map(|_| out).unwrap_or_default()
                }
            }

            pub fn load(key: i16, is_request: bool, version: i16, bodies: Vec<Bytes>) -> Answer<Box<dyn Loaded>> {
                let key = ApiKey::try_from(key).map_err(|_| format!("there is no api key {key}"))?;
                let mut all = All { key, is_request, version, bodies, messages: Vec::new() };
                for index in 0..all.bodies.len() {
                    let message = all.read(&all.bodies[index])?;
                    all.messages.push(message);
                }
                Ok(Box::new(all))
            }
        }
    };
}

kinds!(newer_kinds, kafka_protocol);
kinds!(older_kinds, older);

fn bodies_in(path: &str) -> Answer<Vec<Bytes>> {
    let mut data = Bytes::from(std::fs::read(path).map_err(|error| error.to_string())?);
    let mut bodies = Vec::new();
    while !data.is_empty() {
        let size = data.split_to(4).iter().fold(0, |sum, byte| sum << 8 | *byte as usize);
        bodies.push(data.split_to(size));
    }
    Ok(bodies)
}

fn load(words: &[&str]) -> Answer<Box<dyn Loaded>> {
    let number = |word: &str| word.parse::<i16>().map_err(|error| error.to_string());
    let (key, is_request, version) = (number(words[1])?, words[2] == "request", number(words[3])?);
    let bodies = bodies_in(words[4])?;
    let loaded = newer_kinds::load(key, is_request, version, bodies.clone())
        .or_else(|_| older_kinds::load(key, is_request, version, bodies))?;
    let mut again = Vec::new();
    for index in 0..loaded.count() {
        let written = loaded.encode(index);
        again.extend_from_slice(&(written.len() as u32).to_be_bytes());
        again.extend_from_slice(&written);
    }
    std::fs::write(format!("{}.again", words[4]), again).map_err(|error| error.to_string())?;
    Ok(loaded)
}

fn calls(loaded: &dyn Loaded, decodes: bool, slot: u64) -> usize {
    let (mut count, begin) = (0, Instant::now());
    while begin.elapsed() < Duration::from_nanos(slot) {
        for _ in 0..count + 1 {
            let index = count % loaded.count();
            if decodes {
                loaded.decode(index);
            } else {
                black_box(loaded.encode(index));
            }
            count += 1;
        }
    }
    count
}

fn main() {
    let mut all = Vec::new();
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap_or_default();
        let words: Vec<&str> = line.splitn(5, ' ').collect();
        if words[0] == "load" {
            match load(&words) {
                Ok(loaded) => {
                    all.push(loaded);
                    println!("ok");
                }
                Err(why) => println!("no {}", why.replace('\n', " ")),
            }
        } else {
            let index: usize = words[1].parse().expect("a number");
            println!("{}", calls(all[index].as_ref(), words[0] == "decode", words[2].parse().expect("nanoseconds")));
        }
    }
}
