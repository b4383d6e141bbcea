/// Protobuf JSON writes a field in lowerCamelCase and reads it in snake_case too.
public enum FieldName {
    /// `android_channel_id` for `androidChannelId`, `android_v2` for `androidV2`.
    public static func snake(_ camel: String) -> String {
        // Most names are one word, and this runs for every job of one recipient.
        guard hasTwoSpellings(camel) else { return camel }
        var bytes: [UInt8] = []
        for byte in camel.utf8 {
            if isUppercase(byte) { bytes.append(UInt8(ascii: "_")) }
            bytes.append(isUppercase(byte) ? byte + 0x20 : byte)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// False for a name of one word.
    public static func hasTwoSpellings(_ camel: String) -> Bool { camel.utf8.contains(where: isUppercase) }

    private static func isUppercase(_ byte: UInt8) -> Bool { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) }
}
