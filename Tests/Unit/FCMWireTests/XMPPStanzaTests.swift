import FanfareJSON
import Testing

@testable import FCMWire

@Suite struct XMPPStanzaTests {
    @Test func jsonIsEscapedForXML() {
        let json = #"{"a":"<&'>\"\u00e9é\#u{FFFE}\#u{FFFF}\#u{FFFD}ﾠ"}"#
        let stanza = String(decoding: XMPPStanza.message(id: "a\"<", json: Array(json.utf8)), as: UTF8.self)
        let text =
            #"{&quot;a&quot;:&quot;&lt;&amp;&apos;&gt;\&quot;\u00e9é\ufffe\uffff"# + "\u{FFFD}ﾠ&quot;}"
        #expect(
            stanza == "<message id=\"a&quot;&lt;\"><gcm xmlns=\"google:mobile:data\">\(text)</gcm></message>"
        )
    }

    @Test func aCutCharacterAtTheEndDoesNotTrap() {
        for tail: [UInt8] in [[0xEF], [0xEF, 0xBF], [0xEF, 0xBF, 0xBE], [0xEF, 0xEF, 0xBF, 0xBF]] {
            _ = XMPPStanza.message(id: "", json: tail)
        }
    }

    @Test func aPasswordIsNeverWrittenOut() {
        let settings = XMPPSessionSettings(user: "u@h", password: "secret")
        #expect(!"\(settings)".contains("secret"))
    }
}
