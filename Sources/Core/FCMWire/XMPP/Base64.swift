/// RFC 4648 section 4, with padding, as SASL has it.
enum Base64 {
    static func encode(_ bytes: some Collection<UInt8>) -> [UInt8] {
        var text = Base64URL.encode(bytes).map { byte -> UInt8 in
            switch byte {
            case UInt8(ascii: "-"): UInt8(ascii: "+")
            case UInt8(ascii: "_"): UInt8(ascii: "/")
            default: byte
            }
        }
        while text.count % 4 != 0 { text.append(UInt8(ascii: "=")) }
        return text
    }
}
