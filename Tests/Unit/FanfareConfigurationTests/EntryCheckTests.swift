import FanfareCore
import FanfareModel
import Testing

@testable import FanfareConfiguration

/// The check of an entry follows the settings of its project.
@Suite struct EntryCheckTests {
    private static func reason(_ settings: Configuration.Project?, _ message: String, _ target: String) -> String? {
        let check = EntryCheck(settings, project: "shop", prefix: "fanfare")
        do throws(EntryFault) {
            _ = try check.check([(target, Array("T".utf8)), ("message", Array(message.utf8))])
            return nil
        } catch {
            return error.reason
        }
    }

    private static func project(_ transport: Transport, senderID: String? = nil) -> Configuration.Project {
        var project = Configuration.Project(id: "shop")
        (project.transport, project.senderID) = (transport, senderID)
        return project
    }

    private static let message = #"{"notification":{"title":"Hello"}}"#

    @Test func unknownProjectIsCheckedAsAV1Project() {
        for settings in [nil, Self.project(.v1)] {
            #expect(Self.reason(settings, Self.message, "token") == nil)
            #expect(Self.reason(settings, Self.message, "fid") == nil)
        }
    }

    @Test func transportOfTheProjectDecidesWhichTargetsAreAccepted() {
        #expect(Self.reason(Self.project(.legacy), Self.message, "token") == nil)
        #expect(Self.reason(Self.project(.legacy), Self.message, "fid")?.hasPrefix("fid: ") == true)
    }

    @Test func deviceGroupNeedsTheSenderID() {
        func reason(_ settings: Configuration.Project?) -> String? {
            let check = EntryCheck(settings, project: "shop", prefix: "fanfare")
            let fields = [("op", "group.create"), ("group_name", "g"), ("tokens", #"["T"]"#)]
            do throws(EntryFault) {
                _ = try check.check(fields.map { (name: $0.0, value: Array($0.1.utf8)) })
                return nil
            } catch { return error.reason }
        }
        #expect(reason(Self.project(.v1))?.contains("sender_id") == true)
        #expect(reason(Self.project(.v1, senderID: "1234")) == nil)
        #expect(reason(nil) == nil, "a project without settings may have a sender id")
    }
}
