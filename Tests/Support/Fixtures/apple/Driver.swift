// Plays the system: calls the samples as UIKit and UserNotifications do, and prints what comes of each call.
import FirebaseCore
import FirebaseMessaging
import UIKit
import UserNotifications

@main struct Driver {
    @MainActor static let application = UIApplication()

    @MainActor static func main() async {
        let center = UNUserNotificationCenter.current()
        let app = AppDelegate()
        let launched = app.application(application, didFinishLaunchingWithOptions: nil)
        let categories = center.categories.map { "\($0.identifier): \($0.actions.map(\.identifier))" }
        print("launched \(launched) \(FirebaseApp.isConfigured) \(application.isRegistered) \(categories)")
        app.application(application, didRegisterForRemoteNotificationsWithDeviceToken: Data([7]))
        print("token \(Messaging.messaging().apnsToken.map { [UInt8]($0) } ?? [])")
        await notifications()
        for score in ["1:0", "1:0", "unreachable"] {
            let silent: [AnyHashable: Any] = ["aps": ["content-available": 1], "score": score]
            let result = await receive(silent, app)
            print("silent \(score): \(result), \(counts)")
        }
        // A notification that the user tapped is no wake.
        let tapped = await receive(payload(["score": "2:0"]), app)
        print("tapped: \(tapped), \(counts)")
        serviceExtension()
    }

    static func payload(_ own: [AnyHashable: Any]) -> [AnyHashable: Any] {
        own.merging(["aps": ["alert": "Hi"]]) { first, _ in first }
    }

    static func notification(_ own: [AnyHashable: Any]) -> UNNotification {
        UNNotification(request: UNNotificationRequest(content: UNNotificationContent(userInfo: payload(own))))
    }

    @MainActor static func receive(_ userInfo: [AnyHashable: Any], _ app: AppDelegate) async -> UIBackgroundFetchResult
    {
        #if OTHER_FORMS
            await withCheckedContinuation { continuation in
                app.application(application, didReceiveRemoteNotification: userInfo) {
                    continuation.resume(returning: $0)
                }
            }
        #else
            await app.application(application, didReceiveRemoteNotification: userInfo)
        #endif
    }

    static var counts: String {
        "told \(Messaging.messaging().told), exported \(Messaging.serviceExtension().exported)"
    }

    static func names(_ options: UNNotificationPresentationOptions) -> [String] {
        let all: [(UNNotificationPresentationOptions, String)] = [
            (.banner, "banner"), (.list, "list"), (.sound, "sound"), (.badge, "badge"),
        ]
        return all.filter { options.contains($0.0) }.map(\.1)
    }

    static func notifications() async {
        let center = UNUserNotificationCenter.current()
        guard let delegate = center.delegate else { return print("nobody keeps the delegate") }
        for own in [["room": "a"], ["muted": "1"]] {
            #if OTHER_FORMS
                let options = await delegate.userNotificationCenter(center, willPresent: notification(own))
                print("in front: \(names(options)), \(counts)")
            #else
                delegate.userNotificationCenter(center, willPresent: notification(own)) { options in
                    print("in front: \(names(options)), \(counts)")
                }
            #endif
        }
        let response = UNNotificationResponse(notification: notification(["room": "b"]), actionIdentifier: "REPLY")
        #if OTHER_FORMS
            await delegate.userNotificationCenter(center, didReceive: response)
        #else
            var isDone = false
            delegate.userNotificationCenter(center, didReceive: response) { isDone = true }
            if !isDone { print("the completion handler was not called") }
        #endif
        while await Router.shared.opened.isEmpty { await Task.yield() }
        print("tap: \(await Router.shared.opened), \(counts)")
    }

    static func serviceExtension() {
        #if !OTHER_FORMS
            for isSlow in [false, true] {
                Messaging.serviceExtension().isSlow = isSlow
                let service = NotificationService()
                service.didReceive(notification([:]).request) { content in
                    print("service: slow \(isSlow), \(content is UNMutableNotificationContent), \(counts)")
                }
                if isSlow { service.serviceExtensionTimeWillExpire() }
            }
        #endif
    }
}
