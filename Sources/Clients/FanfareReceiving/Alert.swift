import FanfareJSON

extension ReceivedNotification {
    /// The texts of a notification, or the names of texts in the app's `Localizable.strings`.
    public struct Alert: Equatable, Sendable {
        public var title: String?
        public var subtitle: String?
        public var body: String?
        /// Used for the title, in place of ``title``, with ``titleArguments`` for its placeholders.
        public var titleKey: String?
        public var titleArguments: [String]
        /// Used for the body, in place of ``body``, with ``bodyArguments`` for its placeholders.
        public var bodyKey: String?
        public var bodyArguments: [String]

        /// The value of `aps.alert`: a dictionary, or a text, which is the body; nil if it holds no text.
        init?(_ value: JSONValue) {
            let object = value.object ?? JSONObject()
            title = object["title"]?.string
            subtitle = object["subtitle"]?.string
            body = value.string ?? object["body"]?.string
            titleKey = object["title-loc-key"]?.string
            titleArguments = Self.texts(object["title-loc-args"])
            bodyKey = object["loc-key"]?.string
            bodyArguments = Self.texts(object["loc-args"])
            guard [title, subtitle, body, titleKey, bodyKey].contains(where: { !($0 ?? "").isEmpty }) else {
                return nil
            }
        }

        /// The texts of a list; empty if any element is no text, because the others would fill the wrong placeholders.
        private static func texts(_ value: JSONValue?) -> [String] {
            guard let items = value?.array else { return [] }
            let texts = items.compactMap(\.string)
            return texts.count == items.count ? texts : []
        }
    }

    /// The sound of a notification.
    public enum Sound: Equatable, Sendable {
        /// A file in the app, or `default`.
        case named(String)
        /// A sound with its own volume of 0 to 1. A critical sound plays even on a muted device.
        case adjusted(name: String, volume: Double, isCritical: Bool)

        /// - Parameter value: the value of `aps.sound`: a name or a dictionary.
        init?(_ value: JSONValue) {
            if let name = value.string {
                guard !name.isEmpty else { return nil }
                self = .named(name)
                return
            }
            guard let object = value.object, let name = object["name"]?.string, !name.isEmpty else { return nil }
            let volume = object["volume"]?.number?.double ?? 1
            self = .adjusted(
                name: name,
                volume: min(1, max(0, volume)),
                isCritical: object["critical"]?.number?.wholeInt64 == 1 || object["critical"] == .bool(true)
            )
        }
    }
}
