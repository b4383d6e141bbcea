/// Hides in the words of a peer what they repeat of the secrets that it was sent.
enum SecretEcho {
    /// Bytes that text and secret must share. A shorter secret must be repeated whole.
    private static let window = 8
    /// Bytes of a secret that no text is searched for: they are ordinary words.
    private static let leastBytes = 4

    static func masked(_ text: String, secrets: [String]) -> String {
        let bytes = Array(text.utf8)
        var isHidden = [Bool](repeating: false, count: bytes.count)
        // A peer may repeat a secret as it was sent in a form.
        for secret in Set(secrets + secrets.map(\.percentEncoded)) {
            hide(Array(secret.utf8), in: bytes, &isHidden)
        }
        guard isHidden.contains(true) else { return text }
        var result: [UInt8] = []
        for index in bytes.indices {
            if !isHidden[index] {
                result.append(bytes[index])
            } else if index == 0 || !isHidden[index - 1] {
                result += Array("…[masked]".utf8)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static func hide(_ secret: [UInt8], in text: [UInt8], _ isHidden: inout [Bool]) {
        let width = min(window, secret.count)
        guard width >= leastBytes, text.count >= width else { return }
        var places: [ArraySlice<UInt8>: [Int]] = [:]
        for start in 0...(text.count - width) { places[text[start..<start + width], default: []].append(start) }
        for start in 0...(secret.count - width) {
            for place in places[secret[start..<start + width]] ?? [] {
                for index in place..<place + width { isHidden[index] = true }
            }
        }
    }
}
