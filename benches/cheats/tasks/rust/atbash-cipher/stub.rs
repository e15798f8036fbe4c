/// "Encipher" with the Atbash cipher.
pub fn encode(plain: &str) -> String {
    todo!("Encoding of {plain:?} in Atbash cipher.");
}

/// "Decipher" with the Atbash cipher.
pub fn decode(cipher: &str) -> String {
    todo!("Decoding of {cipher:?} in Atbash cipher.");
}
