import FanfareJSON
import Testing

/// An example that its document prints with a fault: people copy such things, so the refusal has to say where it is.
enum PrintedExample {
    /// - Parameter mark: the text whose first byte is where JSON ends being JSON; nil for the end of the text.
    static func check(_ text: String, at mark: String?, sourceLocation: SourceLocation = #_sourceLocation) throws {
        let bytes = Array(text.utf8)
        var expected = bytes.count
        if let mark {
            let range = try #require(text.utf8.firstRange(of: mark.utf8), sourceLocation: sourceLocation)
            expected = text.utf8.distance(from: text.utf8.startIndex, to: range.lowerBound)
        }
        #expect(sourceLocation: sourceLocation) {
            try JSONParser.parse(bytes)
        } throws: { error in
            (error as? JSONError)?.offset == expected
        }
        // Intake says it to the producer in the same words.
        let scene = try Scene()
        #expect(sourceLocation: sourceLocation) {
            try scene.intake(["token": "t", "message": text])
        } throws: { error in
            (error as? Scene.Rejected)?.reason.hasPrefix("message: not JSON at byte \(expected): ") ?? false
        }
    }
}
